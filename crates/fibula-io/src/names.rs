//! [`named`]: enumerations whose values are named on the command line.

/// Makes an enumeration with the list of its values, and a name for each that is written and read.
macro_rules! named {
    (
        $(#[$about:meta])*
        pub enum $type:ident, $what:literal {
            $($(#[$value_about:meta])* $value:ident = $name:literal,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$value_about])* $value,)*
        }

        impl $type {
            /// Every value, in order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$value,)*];

            /// The name used on the command line.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)*
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = fibula::Error;

            fn from_str(text: &str) -> Result<Self, fibula::Error> {
                let found = Self::ALL.into_iter().find(|value| value.name() == text);
                found.ok_or_else(|| fibula::Error::unknown_name($what, text, &Self::ALL.map(Self::name)))
            }
        }
    };
}

pub(crate) use named;
