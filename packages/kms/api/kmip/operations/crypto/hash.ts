import { Tag } from '@warder/kmip/tables'
import { byteString } from '@warder/kmip/ttlv'
import { digest, noParameters, requireHash } from '../../../../crypto/index.ts'
import { readParameters } from '../../crypto/parameters.ts'
import { type KmipOperation, signedIn } from '../../engine/index.ts'
import { requireData } from '../../streams/cryptographic-request.ts'
import { collectParts } from './collected-parts.ts'

/** Hash (KMIP 2.1 §6.1.24): no key is involved, so every authenticated caller may hash. */
export const hash: KmipOperation = {
  name: 'Hash',
  access: signedIn,
  act(payload, context) {
    return collectParts('Hash', payload, context, (request) => {
      const parameters = request.parameters === undefined ? noParameters : readParameters(request.parameters)
      const algorithm = requireHash(parameters, context.services.policy)
      context.audit({ algorithm: algorithm.name })
      return [byteString(Tag.Data, digest(algorithm, requireData(request)))]
    })
  },
}
