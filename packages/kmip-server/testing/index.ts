export { createClientIssuers } from '../devices/client-issuers.ts'
export { locateRequest, readCriteria } from '../locate/locate-criteria.ts'
export { search } from '../locate/locate-search.ts'
export { kmipOperations } from '../operations/kmip-operations.ts'
export { link } from '../operations/objects/replacement.ts'
export type { Field, Fields } from '../payloads/payload.ts'
export { AbeClient } from './abe.ts'
export { activeSince, aesKey, inside, keyBlock, keyOf, mask, wrappingSpecification } from './keys.ts'
export { type KmipClient, kmipClient } from './kmip-client.ts'
export {
  data,
  hashing,
  iv,
  key16,
  mode,
  oasisData,
  parameters,
  readBytes,
  startKmipFixture,
} from './kmip-fixture.ts'
export { aesAttributes, attributes, objectType, uid, vendorAttribute } from './nodes.ts'
