use crate::outcome::{Code, Outcome};
use crate::testing::Desk;
use image::{DynamicImage, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use serde_json::json;
use std::io::Cursor;

fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

fn noise(width: u32, height: u32) -> DynamicImage {
    let mut state = 1_u32;
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [a, b, c, _] = state.to_be_bytes();
        Rgb([a, b, c])
    }))
}

fn shown(outcome: &Outcome) -> DynamicImage {
    assert_eq!(outcome.images.len(), 1);
    let image = &outcome.images[0];
    let format = ImageFormat::from_mime_type(image.media_type).unwrap();
    image::load_from_memory_with_format(&image.bytes, format).unwrap()
}

#[test]
fn what_fits_is_shown_as_it_is_whatever_its_name() {
    let desk = Desk::new();
    let plain = DynamicImage::ImageRgb8(RgbImage::from_pixel(20, 10, Rgb([1, 2, 3])));
    for (format, media, kind) in [
        (ImageFormat::Png, "image/png", "PNG"),
        (ImageFormat::Jpeg, "image/jpeg", "JPEG"),
        (ImageFormat::WebP, "image/webp", "WebP"),
    ] {
        let bytes = encoded(&plain, format);
        desk.put("picture.txt", &bytes);
        let outcome = desk.ok("view_image", json!({ "path": "picture.txt" }));
        assert_eq!(outcome.text, format!("picture.txt: {kind} image, 20×10, {} bytes.", bytes.len()));
        assert_eq!((outcome.images[0].media_type, &outcome.images[0].bytes), (media, &bytes));
    }
    desk.put("g.gif", encoded(&plain, ImageFormat::Gif));
    let gif = desk.ok("view_image", json!({ "path": "g.gif" }));
    assert_eq!((gif.images[0].media_type, shown(&gif).width()), ("image/png", 20));
}

#[test]
fn what_is_large_is_made_to_fit() {
    let mut desk = Desk::new();
    (desk.limits.image_side, desk.limits.image_shown_bytes) = (200, 20_000);
    desk.put("wide.png", encoded(&DynamicImage::ImageRgb8(RgbImage::new(400, 100)), ImageFormat::Png));
    let wide = desk.ok("view_image", json!({ "path": "wide.png" }));
    assert!(wide.text.contains("400×100, shown at 200×50"), "{}", wide.text);
    assert_eq!((shown(&wide).width(), shown(&wide).height()), (200, 50));
    for (format, side) in [(ImageFormat::Png, 150), (ImageFormat::Jpeg, 500), (ImageFormat::Gif, 300)] {
        desk.put("noise", encoded(&noise(side, side), format));
        let noise = desk.ok("view_image", json!({ "path": "noise" }));
        assert_eq!(noise.images[0].media_type, "image/jpeg");
        assert!(noise.images[0].bytes.len() <= desk.limits.image_shown_bytes);
        let told = format!("{side}×{side}, shown at {}×{}", shown(&noise).width(), shown(&noise).height());
        assert!(noise.text.contains(&told) || shown(&noise).width() == side, "{}", noise.text);
    }
    let clear = DynamicImage::ImageRgba8(RgbaImage::from_pixel(400, 10, Rgba([9, 9, 9, 0])));
    desk.put("clear.png", encoded(&clear, ImageFormat::Png));
    assert!(shown(&desk.ok("view_image", json!({ "path": "clear.png" }))).color().has_alpha());
}

/// The head of a PNG of this size, with nothing behind it.
fn bomb(width: u32, height: u32) -> Vec<u8> {
    let small = encoded(&DynamicImage::ImageRgb8(RgbImage::new(1, 1)), ImageFormat::Png);
    let mut bytes = small[..16].to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend(&small[24..29]);
    let mut crc = u32::MAX;
    for byte in &bytes[12..29] {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    bytes.extend((!crc).to_be_bytes());
    bytes.extend(&small[33..]);
    bytes
}

#[test]
fn bombs_damage_and_what_is_no_image_are_refused() {
    let mut desk = Desk::new();
    desk.put("bomb.png", bomb(60_000, 60_000));
    let large = desk.not_ok("view_image", json!({ "path": "bomb.png" }), Code::TooLarge);
    assert!(large.text.contains("60000×60000"), "{}", large.text);
    desk.put("half.png", bomb(100, 100));
    desk.not_ok("view_image", json!({ "path": "half.png" }), Code::NotAnImage);
    let jpeg = encoded(&noise(50, 50), ImageFormat::Png);
    desk.put("torn.png", &jpeg[..jpeg.len() / 2]);
    desk.not_ok("view_image", json!({ "path": "torn.png" }), Code::NotAnImage);
    for (name, bytes) in [("a.svg", &b"<svg/>"[..]), ("empty", b""), ("a.pdf", b"%PDF-1.7"), ("a.bmp", b"BM\0\0\0\0")] {
        desk.put(name, bytes);
        desk.not_ok("view_image", json!({ "path": name }), Code::NotAnImage);
    }
    desk.limits.image_bytes = 100;
    desk.put("long.png", encoded(&noise(50, 50), ImageFormat::Png));
    desk.not_ok("view_image", json!({ "path": "long.png" }), Code::TooLarge);
}

#[test]
fn places_are_those_of_every_tool_and_a_route_without_images_is_told() {
    let mut desk = Desk::new().fenced(&["closed"]);
    desk.put("closed/a.png", "x");
    desk.put("dir/b", "x");
    desk.not_ok("view_image", json!({ "path": "closed/a.png" }), Code::Fenced);
    desk.not_ok("view_image", json!({ "path": "../outside/secret" }), Code::Outside);
    desk.not_ok("view_image", json!({ "path": "none.png" }), Code::NotFound);
    desk.not_ok("view_image", json!({ "path": "dir" }), Code::IsADirectory);
    desk.put("a.png", encoded(&noise(2, 2), ImageFormat::Png));
    desk.images = false;
    let refused = desk.not_ok("view_image", json!({ "path": "a.png" }), Code::ImagesNotTaken);
    assert!(refused.images.is_empty());
}
