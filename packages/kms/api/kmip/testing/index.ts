export { link } from '../operations/objects/replacement.ts'
export { type Ask, type KmipClient, type KmipClientOptions, kmipClient, Payload } from './kmip-client.ts'
export { aesAttributes, attributes, objectType, uid, vendorAttribute } from './nodes.ts'
