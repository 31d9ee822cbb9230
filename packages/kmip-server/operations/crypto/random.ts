import { randomBytes } from 'node:crypto'
import { Tag } from '@warder/kmip-codec'
import { signedIn } from '../../engine/access.ts'
import { defineOperation } from '../../engine/operation.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'

const length = definePayload({ dataLength: required(field.integer(Tag.DataLength)) })
const bytes = definePayload({ data: required(field.bytes(Tag.Data)) })

/** Maximum number of bytes of one RNGRetrieve. */
const maxRandomBytes = 65_536
const maxSeedBytes = 65_536

/** RNGRetrieve (KMIP 2.1 §6.1.49): bytes of OpenSSL's generator. */
export const rngRetrieve = defineOperation({
  name: 'RNGRetrieve',
  reach: [],
  access: signedIn,
  request: length,
  reply: bytes,
  handle({ dataLength }) {
    if (dataLength < 1 || dataLength > maxRandomBytes)
      throw kmipFailure('InvalidField', `DataLength must be 1 to ${maxRandomBytes}.`)
    return { data: randomBytes(dataLength) }
  },
})

/**
 * RNGSeed (KMIP 2.1 §6.1.50): OpenSSL seeds itself from the operating system. The client's seed is not used, so that no
 * client can influence the generator: the answer is 0 bytes used, as the standard allows.
 */
export const rngSeed = defineOperation({
  name: 'RNGSeed',
  reach: [],
  access: signedIn,
  request: bytes,
  reply: length,
  handle({ data }) {
    if (data.length > maxSeedBytes)
      throw kmipFailure('InvalidField', `A seed may have at most ${maxSeedBytes} bytes.`)
    return { dataLength: 0 }
  },
})
