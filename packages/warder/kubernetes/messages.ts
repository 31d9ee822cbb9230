import protobuf from 'protobufjs/minimal.js'

/**
 * Messages of the interface (k8s.io/kms/apis/v2/api.proto) in proto3, encoded by hand with the minimal runtime of protobufjs,
 * because its full version generates code at run time.
 */
export interface StatusResponse {
  /** `v2`. */
  readonly version: string
  /** `ok`, or the error. */
  readonly healthz: string
  readonly keyId: string
}

export interface EncryptRequest {
  readonly plaintext: Uint8Array
  /** Identifier of the request in the logs of the API server. */
  readonly uid: string
}

export interface EncryptResponse {
  readonly ciphertext: Uint8Array
  readonly keyId: string
}

export interface DecryptRequest {
  readonly ciphertext: Uint8Array
  readonly uid: string
  readonly keyId: string
  /** Annotations from Encrypt: none. */
  readonly annotations: number
}

/** Reads the fields of a message; skips unknown ones, as in proto3. @throws for invalid bytes */
function readFields(
  bytes: Uint8Array,
  take: (field: number, wire: number, reader: protobuf.Reader) => boolean,
): void {
  const reader = protobuf.Reader.create(bytes)
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    const [field, wire] = [tag >>> 3, tag & 7]
    if (field === 0) throw new RangeError('a field has the number 0')
    if (wire !== lengthDelimited || !take(field, wire, reader)) reader.skipType(wire)
  }
}

const lengthDelimited = 2

export const status = {
  decode(bytes: Uint8Array): StatusResponse {
    const texts = new Map<number, string>()
    readFields(bytes, (field, _wire, reader) => {
      if (field > 3) return false
      texts.set(field, reader.string())
      return true
    })
    return { version: texts.get(1) ?? '', healthz: texts.get(2) ?? '', keyId: texts.get(3) ?? '' }
  },
  encode: ({ version, healthz, keyId }: StatusResponse): Buffer =>
    encodeMessage((writer) =>
      writer.uint32(10).string(version).uint32(18).string(healthz).uint32(26).string(keyId),
    ),
}

export const encryptMessages = {
  decode(bytes: Uint8Array): EncryptRequest {
    let plaintext: Uint8Array = new Uint8Array(0)
    let uid = ''
    readFields(bytes, (field, _wire, reader) => {
      if (field === 1) plaintext = reader.bytes()
      else if (field === 2) uid = reader.string()
      else return false
      return true
    })
    return { plaintext, uid }
  },
  encode: ({ ciphertext, keyId }: EncryptResponse): Buffer =>
    encodeMessage((writer) => writer.uint32(10).bytes(ciphertext).uint32(18).string(keyId)),
}

export const decryptMessages = {
  decode(bytes: Uint8Array): DecryptRequest {
    let ciphertext: Uint8Array = new Uint8Array(0)
    let uid = ''
    let keyId = ''
    let annotations = 0
    readFields(bytes, (field, wire, reader) => {
      if (field === 1) ciphertext = reader.bytes()
      else if (field === 2) uid = reader.string()
      else if (field === 3) keyId = reader.string()
      else if (field === 4) {
        annotations += 1
        reader.skipType(wire)
      } else return false
      return true
    })
    return { ciphertext, uid, keyId, annotations }
  },
  encode: (plaintext: Uint8Array): Buffer => encodeMessage((writer) => writer.uint32(10).bytes(plaintext)),
}

function encodeMessage(write: (writer: protobuf.Writer) => protobuf.Writer): Buffer {
  return Buffer.from(write(protobuf.Writer.create()).finish())
}
