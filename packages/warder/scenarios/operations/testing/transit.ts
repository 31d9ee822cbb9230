import type { Walked } from './walked-installation.ts'

const plaintext = Buffer.from('attack at dawn').toString('base64')
const at = (path: string) => `/v1/transit/${path}`

/** Keys for clients of Vault, by POST and PUT. What is named and not served is called, too: its refusal is its success. */
export async function walkTransit({ user }: Walked): Promise<void> {
  const alice = await user('alice')
  await alice.get('/v1/sys/health')
  for (const verb of ['post', 'put'] as const) {
    const key = `life-${verb}`
    const ask = async (path: string, body: object = {}) => (await alice[verb](at(path), body)).json.data
    await ask(`keys/${key}`, { type: 'aes256-gcm96' })
    await alice.get(at(`keys/${key}`))
    await alice.get(at('keys?list=true'))
    const { ciphertext } = await ask(`encrypt/${key}`, { plaintext })
    await ask(`keys/${key}/rotate`)
    await ask(`decrypt/${key}`, { ciphertext })
    await ask(`rewrap/${key}`, { ciphertext })
    await ask(`datakey/plaintext/${key}`)
    for (const hash of ['', '/sha2-256']) {
      await ask(`keys/mac-${verb}`, { type: 'hmac' })
      await ask(`hmac/mac-${verb}${hash}`, { input: plaintext })
      await ask(`keys/sign-${verb}`, { type: 'ecdsa-p256' })
      const { signature } = await ask(`sign/sign-${verb}${hash}`, { input: plaintext })
      await ask(`verify/sign-${verb}${hash}`, { input: plaintext, signature })
      await ask(`hash${hash}`, { input: plaintext })
    }
    await ask('random')
    await ask('random/16')
    await ask(`keys/${key}/config`, { deletion_allowed: true })
    await alice.del(at(`keys/${key}`))
  }
  for (const path of [
    ...[
      'keys/sign-put/trim',
      'export/signing-key/sign-put',
      'backup/sign-put',
      'restore',
      'restore/sign-put',
    ],
    ...['keys/sign-put/import', 'keys/sign-put/import_version', 'wrapping_key'],
  ])
    for (const method of ['GET', 'POST', 'PUT'])
      await alice.wire.call(method, at(path), method === 'GET' ? {} : { json: {} })
}

/** Paths of machines that the kms does not pass on. */
export async function walkOtherPaths({ wire }: Walked): Promise<void> {
  for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'])
    await wire('kms').call(method, '/v1/auth/approle/role', method === 'GET' ? {} : { json: {} })
}
