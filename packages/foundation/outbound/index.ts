export { isPublicAddress } from './address.ts'
export { createOutbound, OutboundError, type OutboundOptions, type OutboundReason } from './client.ts'
export type * from './types.ts'
