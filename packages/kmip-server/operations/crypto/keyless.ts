import { randomBytes } from 'node:crypto'
import { digest, noParameters, requireHash } from '@warder/crypto'
import { Tag } from '@warder/kmip-codec'
import { readParameters } from '../../crypto/parameters.ts'
import { defineOperation, signedIn } from '../../engine/operation.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import { cryptographicRequest, requireData } from '../../streams/cryptographic-request.ts'
import { collectParts } from './collected-parts.ts'

/** Hash (KMIP 2.1 §6.1.24): no key is involved, so every authenticated caller may hash. */
export const hash = defineOperation({
  name: 'Hash',
  reach: [],
  access: signedIn,
  request: cryptographicRequest,
  reply: definePayload({
    data: field.bytes(Tag.Data),
    correlation: field.bytes(Tag.CorrelationValue),
  }),
  handle(asked, context) {
    return collectParts('Hash', asked, context, async (request) => {
      const parameters = request.parameters === undefined ? noParameters : readParameters(request.parameters)
      const algorithm = requireHash(parameters, context.services.policy)
      context.audit({ algorithm: algorithm.name })
      return { data: digest(algorithm, requireData(request)) }
    })
  },
})

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
