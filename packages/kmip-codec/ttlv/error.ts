import { CodedError } from '@warder/base'

/** Reasons why bytes are not a KMIP message. */
export type KmipDecodeCode =
  /** It is truncated, or a length exceeds its end. */
  | 'truncated'
  /** Bytes follow the message. */
  | 'trailing_bytes'
  /** A length that the type does not have. */
  | 'wrong_length'
  /** Padding that is not zero. */
  | 'wrong_padding'
  /** Not 0x42.... or 0x54...., or an unknown name. */
  | 'unknown_tag'
  | 'unknown_type'
  /** Text that is not UTF-8. */
  | 'invalid_text'
  /**
   * A value that is not valid for its type: a Boolean of 2, a date out of range, an odd number of hex digits.
   */
  | 'invalid_value'
  /** An unknown enumeration name. */
  | 'unknown_enumeration'
  | 'too_deep'
  | 'too_many_items'
  | 'too_large'
  /** Not JSON, or JSON with another structure. */
  | 'malformed_json'
  /** Not the supported XML (no DTD, no processing instructions, no CDATA, no text). */
  | 'malformed_xml'
  /** A well-formed tree that is not a valid message: a member is missing, repeated or of another type. */
  | 'missing_member'
  | 'repeated_member'
  | 'wrong_member'
  /** An unsupported protocol version, given in `version`. */
  | 'unsupported_version'
  /** The root of a bare request is not an operation. */
  | 'unknown_operation'

/** The protocol version of a message, if it could be read, supported or not. */
export interface SeenVersion {
  readonly major: number
  readonly minor: number
}

/** The only error that decoders throw for their input. Contains no part of any value. */
export class KmipDecodeError extends CodedError<KmipDecodeCode> {
  override readonly name = 'KmipDecodeError'
  /** The version in the header, if it could be read: the response uses it. */
  readonly version: SeenVersion | undefined

  constructor(code: KmipDecodeCode, sentence: string, version?: SeenVersion) {
    super(code, sentence)
    this.version = version
  }
}

/** Thrown by encoders for a tree without an encoding: an error in the program, not in a request. */
export class KmipEncodeError extends Error {
  constructor(sentence: string) {
    super(sentence)
    this.name = 'KmipEncodeError'
  }
}
