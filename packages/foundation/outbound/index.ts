export { isPublicAddress } from './address.ts'
export { createOutbound, type OutboundOptions } from './client.ts'
export { OutboundError, type OutboundReason } from './error.ts'
export { createLookup, type Resolve, resolveAllowedAddresses, systemResolve } from './guard.ts'
export {
  createPlainFetch,
  type PlainFetch,
  type PlainFetchOptions,
  type PlainResponse,
} from './plain-fetch.ts'
export { createTlsProbe, type TlsProbe, type TlsProbeOptions } from './tls-probe.ts'
export { loadTrustedAuthorities } from './trust.ts'
export type * from './types.ts'
