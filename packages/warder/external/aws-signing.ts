import { algorithm, canonicalRequest, signCanonicalRequest, signingKey } from '@warder/external-stores'

/** Access key of AWS KMS. */
export interface AwsCredential {
  readonly id: string
  readonly secret: string
  readonly region: string
}

const signedHeaders = ['content-type', 'host', 'x-amz-date'] as const

/**
 * Signs a POST request like AWS KMS (AWS Signature Version 4). @returns its headers
 * @param host value of the header Host
 * @param now Unix milliseconds
 */
export function signAwsRequest(
  credential: AwsCredential,
  host: string,
  path: string,
  body: string,
  now: number,
): Readonly<Record<string, string>> {
  const at = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const headers = { 'content-type': 'application/json', host, 'x-amz-date': at }
  const scope = { date: at.slice(0, 8), region: credential.region, service: 'kms-xks-proxy' }
  const key = signingKey(Buffer.from(credential.secret), scope.date, scope.region, scope.service)
  const canonical = canonicalRequest(
    { method: 'POST', path, headers, body: Buffer.from(body) },
    signedHeaders,
  )
  const signature = signCanonicalRequest(key, scope, at, canonical).toString('hex')
  const credentialScope = `${credential.id}/${scope.date}/${scope.region}/${scope.service}/aws4_request`
  return {
    'content-type': 'application/json',
    'x-amz-date': at,
    authorization: `${algorithm} Credential=${credentialScope}, SignedHeaders=${signedHeaders.join(';')}, Signature=${signature}`,
  }
}
