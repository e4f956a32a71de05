//! An image decoded within bounds, and made to fit.

use crate::limits::Limits;
use crate::outcome::Image;
use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, RgbImage};
use std::io::Cursor;

/// How good a JPEG is, from what is tried first to what is tried last.
const QUALITIES: [u8; 3] = [85, 65, 40];

/// Pixels of the longer side, below which an image is not made smaller.
const SMALLEST: u32 = 64;

/// An image that fits.
pub struct Fitted {
    pub(super) image: Image,
    pub(super) kind: &'static str,
    /// Width and height as it is in the file, and as it is shown.
    pub(super) from: (u32, u32),
    pub(super) to: (u32, u32),
}

/// Why there is none.
pub enum Unfit {
    /// None of the four kinds.
    Unknown,
    /// It cannot be decoded.
    Broken(String),
    /// Past a bound.
    TooLarge(String),
}

/// Decodes an image, and gives it as it is where it fits, else smaller.
pub fn fit(bytes: Vec<u8>, limits: &Limits) -> Result<Fitted, Unfit> {
    let (format, kind, media_type) = match image::guess_format(&bytes) {
        Ok(ImageFormat::Png) => (ImageFormat::Png, "PNG", "image/png"),
        Ok(ImageFormat::Jpeg) => (ImageFormat::Jpeg, "JPEG", "image/jpeg"),
        Ok(ImageFormat::Gif) => (ImageFormat::Gif, "GIF", "image/gif"),
        Ok(ImageFormat::WebP) => (ImageFormat::WebP, "WebP", "image/webp"),
        Ok(_) | Err(_) => return Err(Unfit::Unknown),
    };
    let (decoded, orientation) = decode(&bytes, format, limits)?;
    let from = (decoded.width(), decoded.height());
    let fits = from.0.max(from.1) <= limits.image_side && bytes.len() <= limits.image_shown_bytes;
    // A GIF may move; what is shown of it must be what is said of it.
    if fits && orientation == Orientation::NoTransforms && format != ImageFormat::Gif {
        return Ok(Fitted { image: Image { media_type, bytes }, kind, from, to: from });
    }
    drop(bytes);
    let mut small = if from.0.max(from.1) > limits.image_side {
        decoded.thumbnail(limits.image_side, limits.image_side)
    } else {
        decoded
    };
    small.apply_orientation(orientation);
    let (image, to) = encode(small, format, limits)?;
    let turned = matches!(
        orientation,
        Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH
    );
    let from = if turned { (from.1, from.0) } else { from };
    Ok(Fitted { image, kind, from, to })
}

fn decode(bytes: &[u8], format: ImageFormat, limits: &Limits) -> Result<(DynamicImage, Orientation), Unfit> {
    let mut bounds = image::Limits::default();
    bounds.max_alloc = Some(limits.image_memory);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(bounds.clone());
    let mut decoder = reader.into_decoder().map_err(unfit)?;
    // What the header says, before anything is made for it.
    let (width, height) = decoder.dimensions();
    if u64::from(width).saturating_mul(u64::from(height)) > limits.image_pixels {
        return Err(Unfit::TooLarge(format!(
            "it is {width}×{height}, at most {} pixels are decoded",
            limits.image_pixels
        )));
    }
    bounds.reserve(decoder.total_bytes()).map_err(unfit)?;
    decoder.set_limits(bounds).map_err(unfit)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    Ok((DynamicImage::from_decoder(decoder).map_err(unfit)?, orientation))
}

fn unfit(error: ImageError) -> Unfit {
    match error {
        ImageError::Limits(error) => Unfit::TooLarge(error.to_string()),
        error => Unfit::Broken(error.to_string()),
    }
}

/// As it is where nothing is lost by it and it is short enough, else as JPEG; also how large it is then.
fn encode(image: DynamicImage, format: ImageFormat, limits: &Limits) -> Result<(Image, (u32, u32)), Unfit> {
    if format != ImageFormat::Jpeg {
        let mut bytes = Vec::new();
        let plain = if image.color().has_alpha() {
            DynamicImage::ImageRgba8(image.to_rgba8())
        } else {
            DynamicImage::ImageRgb8(image.to_rgb8())
        };
        plain.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png).map_err(unfit)?;
        if bytes.len() <= limits.image_shown_bytes {
            return Ok((Image { media_type: "image/png", bytes }, (image.width(), image.height())));
        }
    }
    let mut flat = DynamicImage::ImageRgb8(on_white(&image));
    drop(image);
    loop {
        for quality in QUALITIES {
            let mut bytes = Vec::new();
            JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(&flat).map_err(unfit)?;
            if bytes.len() <= limits.image_shown_bytes {
                return Ok((Image { media_type: "image/jpeg", bytes }, (flat.width(), flat.height())));
            }
        }
        let half = flat.width().max(flat.height()) / 2;
        if half < SMALLEST {
            return Err(Unfit::TooLarge(format!("it cannot be made to fit {} bytes", limits.image_shown_bytes)));
        }
        flat = flat.thumbnail(half, half);
    }
}

/// Without what shines through: JPEG has no such thing.
fn on_white(image: &DynamicImage) -> RgbImage {
    let image = image.to_rgba8();
    RgbImage::from_fn(image.width(), image.height(), |x, y| {
        let [red, green, blue, alpha] = image.get_pixel(x, y).0;
        let over = |colour: u8| {
            let (colour, alpha) = (u32::from(colour), u32::from(alpha));
            let sum =
                colour.saturating_mul(alpha).saturating_add(255_u32.saturating_mul(255_u32.saturating_sub(alpha)));
            u8::try_from(sum / 255).unwrap_or(u8::MAX)
        };
        image::Rgb([over(red), over(green), over(blue)])
    })
}
