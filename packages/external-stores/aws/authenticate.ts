import { failure } from '@warder/base'
import { externalPrincipal } from '@warder/keys'
import { canonicalRequest, signCanonicalRequest, signingKey, UnsentHeader } from '@warder/outbound/sigv4'
import type { AuthenticationContext, Principal } from '@warder/server'
import { partnerNamed } from '../scope/partner-certificate.ts'
import type { ExternalStoreServices } from '../scope/scope.ts'
import { type AccessKey, type AccessKeys, endOfAccessKey } from './access-keys.ts'
import { amzDate, readSignatureHeader, type SignatureHeader, sameSignature } from './sigv4.ts'

/** XKS Proxy API, appendix A, task 4: older and newer requests fail. */
const skewMs = 5 * 60 * 1000

/** Paths without encoding or dot segments, so that the signed path is the routed path. */
const plainPath = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)+$/

export interface SignatureOptions {
  readonly accessKeys: AccessKeys
  readonly service: string
  /** Common Names of the client certificates of AWS KMS; empty = no certificate is required. */
  readonly clientNames: readonly string[]
}

/** Finds the signer of a request, for the key store at `uriPrefix`. */
export type Authenticator = (context: AuthenticationContext<ExternalStoreServices>) => Promise<Principal>

/**
 * The authenticator of one path prefix: AWS Signature Version 4 over method, path, headers and the whole body (XKS
 * Proxy API, appendix A). A caller with an invalid signature gets one sentence with the reason, and no information
 * about keys.
 */
export function signatureAuthenticator(
  { accessKeys, service, clientNames }: SignatureOptions,
  uriPrefix: string,
): Authenticator {
  const requireCertificate = clientNames.length === 0 ? undefined : certificateRequired(clientNames)
  return async (context) => {
    const { request, services, audit } = context
    requireCertificate?.(context)
    const { path, headers } = request
    if (!plainPath.test(path))
      throw authenticationFailure('The path contains characters that are not allowed in paths of this API.')
    if (request.rawQuery !== '') throw authenticationFailure('This API accepts no query.')
    const header = readSignatureHeader(headers.authorization)
    if (typeof header === 'string') throw authenticationFailure(header)
    audit({ details: { access_key_id: header.accessKeyId } })
    const at = headers['x-amz-date'] ?? ''
    requireRecent(header, at, services.clock.now())
    const key = await accessKeys.get(header.accessKeyId)
    if (key === undefined || key.uriPrefix !== uriPrefix)
      throw authenticationFailure('The access key does not belong to this key store.')
    if (header.region !== key.region || header.service !== service)
      throw authenticationFailure('The signature is for another region or service.')
    requirePlainPayload(headers['x-amz-content-sha256'])
    if (!sameSignature(computeSignature(request, header, key, at), header.signature))
      throw authenticationFailure('The signature does not match the request.')
    const principal = { name: externalPrincipal('aws', key.id), method: 'sigv4' }
    if (key.createdBy === undefined) return principal
    const end = await endOfAccessKey(services, key.createdBy, services.clock.now())
    if (end === undefined) return principal
    audit({ details: { access_key_end: end } })
    throw authenticationFailure(
      `The access key ended with the user who created it (${end}): create another one.`,
    )
  }
}

/** Requires the client certificate of AWS KMS in addition to the signature (XKS Proxy API, Authentication). */
function certificateRequired(names: readonly string[]) {
  const partnerCertificate = partnerNamed('aws', names)
  return (context: AuthenticationContext<ExternalStoreServices>): void => {
    const verdict = partnerCertificate(context)
    if ('problem' in verdict)
      throw failure('unauthorized', 'A client certificate of AWS KMS is required.', {
        detail: verdict.problem,
      })
  }
}

function requireRecent({ date }: SignatureHeader, at: string, now: number): void {
  const signedAt = amzDate(at)
  if (signedAt === undefined)
    throw authenticationFailure('The header X-Amz-Date must be written as 20261231T235959Z.')
  if (!at.startsWith(date))
    throw authenticationFailure('The date in Credential must be the date of X-Amz-Date.')
  if (Math.abs(now - signedAt) > skewMs)
    throw authenticationFailure('The request was signed more than 5 minutes ago, or in the future.')
}

/** Requires a signature over the whole body, which `UNSIGNED-PAYLOAD` and chunked signatures do not cover. */
function requirePlainPayload(digest: string | undefined): void {
  if (digest !== undefined && !/^[0-9a-f]{64}$/.test(digest))
    throw authenticationFailure('The header X-Amz-Content-Sha256 must be the digest of the complete body.')
}

function computeSignature(
  request: AuthenticationContext<ExternalStoreServices>['request'],
  header: SignatureHeader,
  key: AccessKey,
  at: string,
): Buffer {
  let canonical: string
  try {
    canonical = canonicalRequest(request, header.signedHeaders)
  } catch (error) {
    if (error instanceof UnsentHeader) throw authenticationFailure('A signed header is missing.')
    throw error
  }
  return signCanonicalRequest(deriveSigningKey(key, header), header, at, canonical)
}

interface Derived {
  readonly scope: string
  readonly key: Buffer
}
/** The latest signing key of each access key; it changes once a day. */
const derived = new WeakMap<AccessKey, Derived>()

function deriveSigningKey(accessKey: AccessKey, { date, region, service }: SignatureHeader): Buffer {
  const scope = `${date}/${region}/${service}`
  const known = derived.get(accessKey)
  if (known?.scope === scope) return known.key
  const key = accessKey.secret.use((secret) => signingKey(secret, date, region, service))
  derived.set(accessKey, { scope, key })
  return key
}

function authenticationFailure(sentence: string): Error {
  return failure('unauthorized', sentence)
}
