export type { Outbound, OutboundResponse } from './client.ts'
export { createOutbound, loadTrustedAuthorities } from './client.ts'
export { type OutboundCode, OutboundError } from './error.ts'
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
