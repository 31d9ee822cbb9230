import { digest, noParameters, requireHash } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { readParameters } from '../../crypto/parameters.ts'
import { signedIn } from '../../engine/access.ts'
import { defineOperation } from '../../engine/operation.ts'
import { definePayload, field } from '../../payloads/payload.ts'
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
