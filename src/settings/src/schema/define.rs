//! The macro that makes enum, table and snapshot from the same rows.

macro_rules! settings {
    ($(
        $(#[doc = $line:literal])+
        $variant:ident, $field:ident: $ty:ty = $row:ident($($argument:expr),+ $(,)?) $(.$mark:ident())*;
    )+) => {
        /// The key of a setting.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Key {
            $($(#[doc = $line])+ $variant,)+
        }

        /// Every setting, in the order of the documentation.
        pub static ALL: &[Setting] = &[$(Key::$variant.setting()),+];

        /// The values in force: an immutable snapshot.
        ///
        /// Made by [`Settings::load`](crate::Settings::load) and [`reload`](crate::reload) only, so every field is within
        /// the bounds of its row.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct Settings {
            /// Which snapshot this is: grows with each reload that changes a value.
            pub revision: Revision,
            $($(#[doc = $line])+ pub $field: $ty,)+
            pub(crate) origins: Origins,
            pub(crate) processors: u32,
        }

        /// Where each value came from.
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct Origins {
            $($field: Origin,)+
        }

        impl Key {
            /// Its row.
            #[must_use]
            pub const fn setting(self) -> Setting {
                match self {
                    $(Self::$variant => {
                        $row(self, concat!($($line),+).trim_ascii_start(), $($argument),+)$(.$mark())*
                    })+
                }
            }
        }

        impl Settings {
            /// The snapshot of what `find` gives for each key.
            pub(crate) fn assemble(
                revision: Revision,
                processors: u32,
                find: impl Fn(Key) -> Option<(Value, Origin)>,
            ) -> Result<Self, Key> {
                $(let $field = find(Key::$variant)
                    .and_then(|(value, origin)| Some((<$ty as Field>::from_value(&value)?, origin)))
                    .ok_or(Key::$variant)?;)+
                Ok(Self {
                    revision,
                    processors,
                    origins: Origins { $($field: $field.1,)+ },
                    $($field: $field.0,)+
                })
            }

            /// The value of this key.
            #[must_use]
            pub fn value(&self, key: Key) -> Value {
                match key {
                    $(Key::$variant => self.$field.to_value(),)+
                }
            }

            /// Where the value of this key came from.
            #[must_use]
            pub const fn origin(&self, key: Key) -> &Origin {
                match key {
                    $(Key::$variant => &self.origins.$field,)+
                }
            }

            /// Takes over value and origin of one key.
            pub(crate) fn keep(&mut self, key: Key, from: &Self) {
                match key {
                    $(Key::$variant => {
                        self.$field = from.$field.clone();
                        self.origins.$field = from.origins.$field.clone();
                    })+
                }
            }
        }
    };
}

pub(super) use settings;
