//! A conversation: messages of parts.

use serde::{Deserialize, Serialize};

/// Who speaks. Instructions of the system stand apart, in [`ModelRequest::instructions`](super::ModelRequest::instructions).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The owner, a notice of the host, or the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A turn of the user with this text.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, parts: vec![Part::text(text)] }
    }

    /// The text of all text parts, one after the other.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text, .. } => Some(text.as_str()),
                Part::Image { .. }
                | Part::Reasoning { .. }
                | Part::ToolCall { .. }
                | Part::ToolResult { .. }
                | Part::Refusal { .. }
                | Part::Native { .. } => None,
            })
            .collect()
    }
}

/// A piece of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text {
        /// It.
        text: String,
        /// Whether everything up to here is likely to be sent again: a hint to providers that cache prompts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cache: bool,
    },
    /// An image. Only in turns of the user and in results of tools.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        media_type: String,
        /// Its bytes, base64.
        data: String,
    },
    /// What the model thought, as far as the provider shows it. Only in turns of the model.
    Reasoning {
        /// For people; may be empty.
        text: String,
        /// What the provider needs to get back to go on from here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Native>,
    },
    /// The model calls a tool. Only in turns of the model.
    ToolCall {
        /// The provider's id of the call, or one of ours where it gives none. Unique in the conversation.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as the model wrote them: meant to be a JSON object, and not always one.
        arguments: String,
        /// What the provider needs to get back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Native>,
    },
    /// What a tool gave. Only in turns of the user; every call of the turn before has exactly one.
    ToolResult {
        /// The id of the call.
        call: String,
        /// The tool.
        name: String,
        /// Text and images.
        parts: Vec<Part>,
        /// Whether the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// As for [`Part::Text`].
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cache: bool,
    },
    /// The model declines, in its own words. Only in turns of the model.
    Refusal {
        /// The words.
        text: String,
    },
    /// Something that this form has no word for. Only in turns of the model.
    Native {
        /// It.
        native: Native,
    },
}

impl Part {
    /// Text without a hint.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), cache: false }
    }
}

/// A provider's own JSON. Given back unchanged to the route it came from; left out on every other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Native {
    /// The id of the route.
    pub route: String,
    /// The JSON text, byte for byte.
    pub json: String,
}
