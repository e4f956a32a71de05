//! `view_image`: an image of the folder, made to fit.
//!
//! It is always decoded as a whole, so that nothing is handed on that a provider could not read: an image that is refused would stay
//! in the conversation and make every later request fail. Decoding happens here and not in a process of its own: the decoders are
//! without `unsafe` code of theirs, what they may allocate is bounded before they begin, and one that panics ends a thread only.

mod fit;

use crate::arguments::{self, Arguments};
use crate::folder::Purpose;
use crate::limits::Limits;
use crate::outcome::{Attempt, Code, Image, Outcome};
use crate::registry::{Access, Call, Tool};
use fit::{Fitted, Unfit};
use ouroboros_proto::agent::ToolSpec;
use serde::Deserialize;
use serde_json::json;
use std::io::Read as _;
use std::thread;

/// An image that is not one of the folder, made to fit into so many bytes. The error says what is wrong with it.
///
/// # Errors
/// It is none of the four kinds, damaged, or cannot be made to fit.
pub fn fitted(bytes: Vec<u8>, limits: &Limits) -> Result<Image, String> {
    match decoded(bytes, limits) {
        Ok(Ok(fitted)) => Ok(fitted.image),
        Ok(Err(Unfit::Unknown)) => Err("it is no PNG, JPEG, GIF or WebP image".to_owned()),
        Ok(Err(Unfit::Broken(why))) => Err(format!("it is damaged, or no image: {why}")),
        Ok(Err(Unfit::TooLarge(why))) => Err(format!("it is too large to be shown: {why}")),
        Err(error) => Err(format!("it could not be decoded: {error}")),
    }
}

/// Decodes in a thread: a decoder that panics ends nothing else.
fn decoded(bytes: Vec<u8>, limits: &Limits) -> std::io::Result<Result<Fitted, Unfit>> {
    thread::scope(|scope| {
        let decoder = thread::Builder::new().spawn_scoped(scope, || fit::fit(bytes, limits));
        decoder.map(|decoder| decoder.join().unwrap_or(Err(Unfit::Broken("its decoder broke down".to_owned()))))
    })
}

/// The tool.
pub struct ViewImage;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    path: String,
}

impl Arguments for Wanted {
    const EXAMPLE: &'static str = r#"{"path":"docs/screen.png"}"#;
}

impl Tool for ViewImage {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "view_image".to_owned(),
            description: "Shows you an image of the folder (PNG, JPEG, GIF or WebP). A large one is made smaller; of an animation the \
                          first picture is shown."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "path": { "type": "string", "description": "The image, relative to the folder." } },
                "required": ["path"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    /// One at a time: a decoded image is large.
    fn parallel_safe(&self) -> bool {
        false
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        view(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

fn view(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let wanted: Wanted = arguments::read(arguments, call.limits.argument_bytes)?;
    let place = call.folder.locate(&wanted.path, Purpose::Read)?;
    let opened = call.folder.open_file(&place)?;
    let (path, limits) = (place.shown(), call.limits);
    let refuse = |code, text: String| Outcome::not_ok(code, text).with(json!({ "path": path }));
    if !call.images {
        let text = format!("{path} cannot be shown: the model of this task takes no images. Go on without it.");
        return Err(refuse(Code::ImagesNotTaken, text));
    }
    let most = u64::try_from(limits.image_bytes).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let failed = |error: std::io::Error| Outcome::io(&format!("{path} could not be read"), &error);
    opened.file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > limits.image_bytes {
        let text = format!("{path} has more than {most} bytes, which is too much to be shown.");
        return Err(refuse(Code::TooLarge, text));
    }
    if (call.cancelled)() {
        return Err(Outcome::cancelled());
    }
    let size = bytes.len();
    let fitted =
        decoded(bytes, limits).map_err(|error| Outcome::io(&format!("{path} could not be decoded"), &error))?;
    let Fitted { image, kind, from, to } = fitted.map_err(|unfit| match unfit {
        Unfit::Unknown => refuse(
            Code::NotAnImage,
            format!("{path} is no PNG, JPEG, GIF or WebP image. Use read_file for text, SVG included."),
        ),
        Unfit::Broken(why) => refuse(Code::NotAnImage, format!("{path} is damaged, or no image: {why}.")),
        Unfit::TooLarge(why) => refuse(Code::TooLarge, format!("{path} is too large to be shown: {why}.")),
    })?;
    let (width, height) = from;
    let smaller = if from == to { String::new() } else { format!(", shown at {}×{}", to.0, to.1) };
    let mut outcome = Outcome::ok(
        format!("{path}: {kind} image, {width}×{height}{smaller}, {size} bytes."),
        json!({ "path": path, "kind": kind, "width": width, "height": height, "shown_bytes": image.bytes.len() }),
    );
    outcome.images.push(image);
    Ok(outcome)
}

#[cfg(test)]
mod tests;
