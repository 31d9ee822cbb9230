import { Tag } from '@warder/kmip-codec'
import { definePayload, field, type GivenPayload, required } from './payload.ts'

/** The reply of an operation that makes or changes a pair. */
export const pairReply = definePayload({
  privateKeyUniqueIdentifier: required(field.identifier(Tag.PrivateKeyUniqueIdentifier)),
  publicKeyUniqueIdentifier: required(field.identifier(Tag.PublicKeyUniqueIdentifier)),
})

export type PairReply = GivenPayload<typeof pairReply>

/** The attributes of a pair in a request: those of both halves, and of each. */
export const pairAttributes = {
  common: field.attributes(Tag.CommonAttributes),
  ofPrivate: field.attributes(Tag.PrivateKeyAttributes),
  ofPublic: field.attributes(Tag.PublicKeyAttributes),
}
