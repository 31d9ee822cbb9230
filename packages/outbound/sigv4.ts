import { createHmac, hash } from 'node:crypto'

/** The scheme of the header Authorization, and the algorithm in the text that is signed. */
export const algorithm = 'AWS4-HMAC-SHA256'

/** The bytes of a request that a signature covers. */
export interface SignedRequest {
  readonly method: string
  /** Not decoded; contains only characters that a canonical URI does not encode. */
  readonly path: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
}

/** The request lacks a signed header. */
export class UnsentHeader extends Error {}

/**
 * The canonical request, without query. The path is used unchanged: encoding and normalization have no effect on a path
 * without characters that need encoding and without dot segments.
 * @param signed names of headers, lower case and sorted
 * @throws UnsentHeader
 */
export function canonicalRequest(
  { method, path, headers, body }: SignedRequest,
  signed: readonly string[],
): string {
  let lines = ''
  for (const name of signed) {
    const value = headers[name]
    if (value === undefined) throw new UnsentHeader(name)
    lines += `${name}:${trimAll(value)}\n`
  }
  return `${method}\n${path}\n\n${lines}\n${signed.join(';')}\n${hash('sha256', body, 'hex')}`
}

/** Trims a value, and replaces sequences of blanks by one. */
function trimAll(value: string): string {
  return value.includes('  ') || value.includes('\t') ? value.replaceAll(/[ \t]+/g, ' ').trim() : value.trim()
}

/** The scope of a signature: a day (`YYYYMMDD`), a region and a service. */
export interface SigningScope {
  readonly date: string
  readonly region: string
  readonly service: string
}

/** The key that signs for a day, a region and a service. */
export function signingKey(secret: Uint8Array, date: string, region: string, service: string): Buffer {
  const seed = Buffer.concat([Buffer.from('AWS4'), secret])
  let key = hmac(seed, date)
  seed.fill(0)
  for (const text of [region, service, 'aws4_request']) key = hmac(key, text)
  return key
}

/** @param at the header X-Amz-Date */
export function signCanonicalRequest(
  key: Uint8Array,
  { date, region, service }: SigningScope,
  at: string,
  canonical: string,
): Buffer {
  const scope = `${date}/${region}/${service}/aws4_request`
  return hmac(key, `${algorithm}\n${at}\n${scope}\n${hash('sha256', canonical, 'hex')}`)
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** An access key of AWS. */
export interface AwsCredential {
  readonly id: string
  readonly secret: string
  /** Of temporary access keys. */
  readonly sessionToken?: string | undefined
}

/** A POST request to be signed. */
export interface AwsRequest {
  /** Value of the header Host. */
  readonly host: string
  /** As in `SignedRequest`. */
  readonly path: string
  /** Lower-case names; all are signed. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/**
 * Signs a POST request (AWS Signature Version 4, "Authentication with the Authorization header").
 * @param now Unix milliseconds
 * @returns all headers but Host
 */
export function signAwsRequest(
  { host, path, headers, body }: AwsRequest,
  { id, secret, sessionToken }: AwsCredential,
  { region, service }: Omit<SigningScope, 'date'>,
  now: number,
): Readonly<Record<string, string>> {
  const at = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const sent = {
    ...headers,
    'x-amz-date': at,
    ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
  }
  const scope = { date: at.slice(0, 8), region, service }
  const signed = [...Object.keys(sent), 'host'].sort()
  const key = signingKey(Buffer.from(secret), scope.date, region, service)
  const canonical = canonicalRequest({ method: 'POST', path, headers: { ...sent, host }, body }, signed)
  const signature = signCanonicalRequest(key, scope, at, canonical).toString('hex')
  const credential = `${id}/${scope.date}/${region}/${service}/aws4_request`
  return {
    ...sent,
    authorization: `${algorithm} Credential=${credential}, SignedHeaders=${signed.join(';')}, Signature=${signature}`,
  }
}
