import type { KmsContext } from '@warder/command-line/kms'

/** Creates an RSA key that signs tokens for a cloud; it is not published with the keys of users. */
export async function makeSigningKey(context: KmsContext, grantedTo: string, tag: string): Promise<string> {
  const { kms } = context
  const body = { kty: 'RSA', bits: 3072, alg: 'RS256' }
  const { kid, kid_public: published } = await kms.call('crypto.keys.create', { body })
  for (const half of [kid, published]) {
    if (typeof half !== 'string') continue
    await kms.call('key.tags.remove', { path: { kid: half }, body: { tags: ['jwks'] } })
    await kms.call('key.tags.add', { path: { kid: half }, body: { tags: [tag] } })
  }
  const granted = { unique_identifier: kid, user_id: grantedTo, operation_types: ['sign'] }
  await kms.call('access.grant', { body: granted })
  return kid
}
