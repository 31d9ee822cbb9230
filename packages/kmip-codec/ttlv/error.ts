import { CodedError } from '@warder/base'

/** Why bytes are not a KMIP message. */
export type KmipDecodeCode =
  /** It ends before it should, or a length goes past its end. */
  | 'truncated'
  /** Bytes follow the message. */
  | 'trailing_bytes'
  /** A length that the type does not have. */
  | 'wrong_length'
  /** Padding that is not zero. */
  | 'wrong_padding'
  /** Not 0x42.... or 0x54...., or a name that no table has. */
  | 'unknown_tag'
  | 'unknown_type'
  /** Text that is not UTF-8. */
  | 'invalid_text'
  /** A value that its type cannot have: a Boolean of 2, a date beyond the calendar, odd hex digits. */
  | 'invalid_value'
  /** An enumeration name that no table has. */
  | 'unknown_enumeration'
  | 'too_deep'
  | 'too_many_items'
  | 'too_large'
  /** Not JSON, or JSON of another shape. */
  | 'malformed_json'
  /** Not the XML that is read here (no DTD, no processing instructions, no CDATA, no text). */
  | 'malformed_xml'
  /** The right codec, the wrong message: a member missing, repeated or of another type. */
  | 'missing_member'
  | 'repeated_member'
  | 'wrong_member'
  /** A protocol version that is not spoken; `version` says which. */
  | 'unsupported_version'
  /** The root of a bare request names no operation. */
  | 'unknown_operation'

/** The protocol version of a message as far as it could be read, spoken or not. */
export interface SeenVersion {
  readonly major: number
  readonly minor: number
}

/** Thrown by every decoder for every input that it refuses; nothing else is thrown. Holds no part of any value. */
export class KmipDecodeError extends CodedError<KmipDecodeCode> {
  override readonly name = 'KmipDecodeError'
  /** The version in the header, where the message was good enough to have one: the answer echoes it. */
  readonly version: SeenVersion | undefined

  constructor(code: KmipDecodeCode, sentence: string, version?: SeenVersion) {
    super(code, sentence)
    this.version = version
  }
}

/** Thrown by encoders for a tree that has no encoding: a mistake of the program, not of a caller. */
export class KmipEncodeError extends Error {
  constructor(sentence: string) {
    super(sentence)
    this.name = 'KmipEncodeError'
  }
}
