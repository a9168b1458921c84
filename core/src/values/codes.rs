//! Names of variants: each is written once, for the list of all and for each alone.

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

/// Implements the name of each variant of an enum without data, and `ALL`, every variant in the
/// order given here.
#[macro_export]
macro_rules! names {
    (
        $(#[$doc:meta])* $vis:vis $type:ident::$name:ident { $($variant:ident = $text:literal,)+ }
    ) => {
        impl $type {
            /// Every variant, in order.
            $vis const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            $(#[$doc])*
            $vis const fn $name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}
