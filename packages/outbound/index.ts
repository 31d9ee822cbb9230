export { createOutbound } from './client.ts'
export { OutboundError, type OutboundReason } from './error.ts'
export { createLookup, type Resolve, resolveAllowedAddresses, systemResolve } from './guard.ts'
export { createPlainFetch, type PlainFetch } from './plain-fetch.ts'
export {
  httpsProblem,
  keySetProblem,
  providersProblem,
  readProviderText,
  spiffe,
} from './provider-addresses.ts'
export { createTlsProbe, type TlsProbe } from './tls-probe.ts'
export { loadTrustedAuthorities } from './trust.ts'
export type { Outbound, OutboundResponse } from './types.ts'
