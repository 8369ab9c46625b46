//! Just enough of protocol buffers to write a message: varints, and fields with a length.

/// A message under construction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Message(pub Vec<u8>);

impl Message {
    /// A field that holds a whole number.
    pub fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field << 3));
        self.varint(value);
        self
    }

    /// A field that holds bytes: a text, raw data, another message.
    pub fn bytes(mut self, field: u32, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        self.varint(u64::from((field << 3) | 2));
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// A field that holds another message.
    pub fn message(self, field: u32, value: &Message) -> Self {
        self.bytes(field, &value.0)
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_encoded_as_the_specification_shows() {
        // The examples of the protocol buffers' documentation on encoding.
        assert_eq!(Message::default().number(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().bytes(2, "testing").0, *b"\x12\x07testing");
        let inner = Message::default().number(1, 150);
        assert_eq!(Message::default().message(3, &inner).0, [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }
}
