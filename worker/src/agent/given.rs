//! Images that the owner gave with what is wanted.
//!
//! They are made to fit once, when the work begins, so that all of them go with one request and what is sent follows from the
//! transcript alone.

use super::conversation::IMAGE_BYTES;
use super::desk::carried;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ouroboros_proto::agent::CallImage;
use ouroboros_tools::{Limits, view_image};

/// The images, as they go with the first request. The error says which is wrong, and why.
pub fn fitted(images: &[CallImage]) -> Result<Vec<CallImage>, String> {
    let share = IMAGE_BYTES / 4 * 3 / images.len().max(1);
    let usual = Limits::default();
    let limits = Limits { image_shown_bytes: usual.image_shown_bytes.min(share), ..usual };
    let fit = |(number, image): (usize, &CallImage)| {
        let bytes = STANDARD.decode(&image.data).map_err(|error| error.to_string());
        let fitted = bytes.and_then(|bytes| view_image::fitted(bytes, &limits));
        fitted.map(carried).map_err(|why| format!("image {number} cannot be shown: {why}"))
    };
    (1..).zip(images).map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grey image of one pixel.
    const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

    fn image(data: &str) -> CallImage {
        CallImage { media_type: "image/png".to_owned(), data: data.to_owned() }
    }

    #[test]
    fn images_are_kept_as_they_are_where_they_fit_and_wrong_ones_are_named() {
        assert_eq!(fitted(&[image(DOT), image(DOT)]), Ok(vec![image(DOT), image(DOT)]));
        for wrong in ["AAAA", "iVBORw0KGgo=", "?"] {
            let why = fitted(&[image(DOT), image(wrong)]).expect_err("no image");
            assert!(why.starts_with("image 2 cannot be shown: "), "{why}");
        }
        assert_eq!(fitted(&[]), Ok(Vec::new()));
    }
}
