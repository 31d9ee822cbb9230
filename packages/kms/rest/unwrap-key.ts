import { createSecretKey } from 'node:crypto'
import { failure } from '@warder/base'
import {
  algorithmFor,
  type BackendKey,
  type DescribedKey,
  decodeBase64Url,
  type KeyMaterial,
  oaepPlan,
  readJweHeader,
  toKeyOps,
} from '@warder/crypto'
import {
  keyRight,
  newKeyObjects,
  requireCreate,
  requireKeyUse,
  requirePrincipal,
  stageNew,
  toUsageMask,
  UnitOfWork,
} from '@warder/keys'
import { post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { Ext, KeyReply, toExtractability } from './key-shape.ts'
import { define, type RestServices } from './services.ts'

const UnwrapRequest = Type.Object({
  protected: Type.String({ description: 'JWE header with kid, alg and enc; base64url.' }),
  encrypted_key: Type.String({ description: 'The wrapped key, base64url.' }),
  ext: Ext,
})

const access = keyRight<RestServices, ReturnType<typeof read>>('decrypt', {
  read: (input, { services }) => read(input.body as Static<typeof UnwrapRequest>, services),
  kid: ({ kid }) => kid,
  use: 'private half',
  version: 'process',
  algorithm: ({ alg, enc }) => `${alg} ${enc}`,
})

function read(body: Static<typeof UnwrapRequest>, services: RestServices) {
  const { policy } = services
  const { alg, enc, kid } = readJweHeader(body.protected)
  const management = algorithmFor('key management', alg, policy)
  const encryption = algorithmFor('content encryption', enc, policy)
  const encryptedKey = decodeBase64Url(body.encrypted_key, 'encrypted_key')
  if (encryptedKey.length === 0) throw failure('bad_request', 'encrypted_key: must not be empty.')
  return { kid, alg, enc, management, encryption, encryptedKey }
}

/**
 * `POST /v1/crypto/keys/unwrap`: stores the content key of a JWE as an Active managed key of the caller. Its errors
 * distinguish causes that those of decryption do not; it is limited to callers who may create keys, and each attempt is
 * in the audit log.
 */
export const unwrapKey = define({
  name: 'crypto.keys.unwrap',
  reach: ['reveal plaintext', 'make object'],
  route: post('/v1/crypto/keys/unwrap'),
  summary: 'Import the wrapped key of a JWE',
  tag: 'Keys',
  access,
  request: UnwrapRequest,
  reply: KeyReply,
  errors: {
    403: 'The caller has no right to decrypt with it, or to create keys.',
    404: 'No such key.',
    422: 'It cannot be unwrapped.',
  },
  async act({ body: { ext } }, context) {
    const { services } = context
    const { key, request } = access.resolved(context)
    await requireCreate(context)
    requireKeyUse(key, 'decrypt', context).requireBoundTo(request.alg)
    const plan = oaepPlan(request.management)
    const cek = await rsaKey(key.described).decryptRsa(plan, request.encryptedKey)
    const material = importCek(cek, request.encryption.bits)
    const extractability = toExtractability(ext)
    const now = services.clock.now()
    const objects = new UnitOfWork(services, now)
    const created = { owner: requirePrincipal(context).name, boundAlg: request.enc, now }
    const wanted = newKeyObjects(created, [
      {
        material,
        usageMask: toUsageMask(material, request.enc),
        tags: [],
        ...(extractability !== undefined && { extractability }),
      },
    ])
    const [made] = await stageNew(objects, services, created, wanted)
    const kid = made?.id
    context.audit({ details: { created: kid, ...(ext === false && { ext }) } })
    await objects.commit(context.commit)
    return {
      kid,
      kty: 'oct',
      alg: request.enc,
      key_ops: toKeyOps(request.enc),
      ...(ext !== undefined && { ext }),
    }
  },
})

function rsaKey({ algorithm, kind, held }: DescribedKey): BackendKey {
  if (algorithm !== 'RSA' || kind !== 'private')
    throw failure('crypto_failure', 'The key is not an RSA private key.')
  return held
}

function importCek(cek: Buffer, bits: number): KeyMaterial {
  try {
    if (cek.length * 8 !== bits)
      throw failure('crypto_failure', 'The length of the wrapped key does not match enc.')
    return { kind: 'secret', algorithm: 'AES', bits, key: createSecretKey(cek) }
  } finally {
    cek.fill(0)
  }
}
