//! Macros that spell out a list: names of variants, each written once for the list of all and for
//! each alone, and members of objects that are not written as they are stored.

/// Implements the stable code of each variant, and `CODES`, the list of them. `A | B = "code"`
/// gives one code to several variants.
#[macro_export]
macro_rules! codes {
    ($type:ident::$code:ident { $($($variant:ident)|+ = $text:literal,)+ }) => {
        impl $type {
            /// Every code.
            pub const CODES: [&'static str; [$($text),+].len()] = [$($text),+];

            /// Returns the stable code.
            pub const fn $code(&self) -> &'static str {
                match self {
                    $($(Self::$variant { .. })|+ => $text,)+
                }
            }
        }
    };
}

/// Declares an enum without data with the name of each variant, which a function returns, and
/// `ALL`, every variant in order.
#[macro_export]
macro_rules! names {
    (
        $(#[$about:meta])* $vis:vis enum $type:ident {
            $($(#[$doc:meta])* $variant:ident = $text:literal,)+
        }
        $(#[$named:meta])* $access:vis fn $name:ident;
    ) => {
        $(#[$about])*
        $vis enum $type {
            $($(#[$doc])* $variant,)+
        }

        impl $type {
            /// Every variant, in order.
            $access const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            $(#[$named])*
            $access const fn $name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

/// Serialises a type as an object, whose members are expressions about the value.
#[macro_export]
macro_rules! object {
    ($type:ident, |$value:ident| {$($name:literal: $member:expr,)*}) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct;
                let $value = self;
                let mut out = serializer.serialize_struct(stringify!($type), [$($name),*].len())?;
                $(out.serialize_field($name, &$member)?;)*
                out.end()
            }
        }
    };
}
