import type { KmsContext } from '@warder/command-line/kms'

/** Signs claims with a key of this service. @returns a compact JWT (RS256) */
export async function signWithKey(
  { kms }: KmsContext,
  kid: string,
  claims: Readonly<Record<string, unknown>>,
): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const all = { iat: now, exp: now + 300, ...claims }
  const data = Buffer.from(JSON.stringify(all)).toString('base64url')
  const { protected: header, signature } = await kms.call('crypto.sign', {
    body: { kid, alg: 'RS256', data },
  })
  return `${header}.${data}.${signature}`
}
