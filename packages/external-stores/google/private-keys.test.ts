import assert from 'node:assert/strict'
import {
  constants,
  createHash,
  generateKeyPairSync,
  type KeyObject,
  publicEncrypt,
  randomBytes,
  verify,
} from 'node:crypto'
import { after, before, test } from 'node:test'
import type { JWTPayload } from 'jose'
import { administrator, dataKey, type GoogleWorld, startGoogle } from './testing/world.ts'

let world: GoogleWorld
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const other = generateKeyPairSync('rsa', { modulusLength: 2048 })
let wrapped = ''

const spkiHash = (key: KeyObject) =>
  createHash('sha256')
    .update(key.export({ format: 'der', type: 'spki' }))
    .digest('base64')

before(async () => {
  world = await startGoogle()
  wrapped = await wrapKey(privateKey.export({ format: 'pem', type: 'pkcs8' }) as string)
})
after(() => world[Symbol.asyncDispose]())

async function wrapAnswer(private_key: string, members: object = {}) {
  const authentication = await world.authentication({ email: administrator })
  return world.post('wrapprivatekey', { authentication, perimeter_id: '', private_key, ...members })
}

async function wrapKey(private_key: string, members: object = {}): Promise<string> {
  const answer = await wrapAnswer(private_key, members)
  assert.equal(answer.status, 200, answer.text)
  return answer.json.wrapped_private_key
}

const gmail = async (role: string, claims: JWTPayload = {}, application = 'gmail') => ({
  authentication: await world.authentication(),
  authorization: await world.authorization(
    {
      role,
      resource_name: 'r'.repeat(512),
      message_id: '<42@example.com>',
      spki_hash: spkiHash(publicKey),
      spki_hash_algorithm: 'SHA-256',
      ...claims,
    },
    { application },
  ),
  reason: role,
})

const computeDigest = (hash: string) => createHash(hash).update('SignedAttributes').digest()
const signing = { algorithm: 'SHA256withRSA', digest: computeDigest('sha256').toString('base64') }

test('private keys are taken in every form that an administrator may have, and come to 8 KB at most', async () => {
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
  const pkcs1 = privateKey.export({ format: 'pem', type: 'pkcs1' }) as string
  const forms = [
    pem,
    pkcs1,
    pkcs1.replaceAll('\n', '\\n'),
    privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    privateKey.export({ format: 'der', type: 'pkcs1' }).toString('base64'),
    Buffer.from(pem).toString('base64'),
  ]
  for (const form of forms) {
    const wrapped_private_key = await wrapKey(form)
    assert.ok(wrapped_private_key.length <= 8192)
    const signed = await world.post('privatekeysign', {
      ...(await gmail('signer')),
      ...signing,
      wrapped_private_key,
    })
    assert.equal(signed.status, 200, signed.text)
  }
})

test('what is no RSA private key of a usual size is not wrapped', async () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
  const encrypted = privateKey.export({
    format: 'pem',
    type: 'pkcs8',
    cipher: 'aes-256-cbc',
    passphrase: 'x',
  })
  const wrong = [
    '',
    'no key',
    publicKey.export({ format: 'pem', type: 'spki' }) as string,
    ec.export({ format: 'pem', type: 'pkcs8' }) as string,
    short.export({ format: 'pem', type: 'pkcs8' }) as string,
    encrypted as string,
    randomBytes(600).toString('base64'),
    'A'.repeat(20_000),
  ]
  for (const form of wrong) assert.equal((await wrapAnswer(form)).status, 400, form.slice(0, 40))
})

test('digests are signed with each algorithm of Gmail', async () => {
  for (const [name, hash] of [
    ['SHA1', 'sha1'],
    ['SHA256', 'sha256'],
    ['SHA384', 'sha384'],
    ['SHA512', 'sha512'],
  ] as const) {
    for (const pss of [false, true]) {
      const algorithm = `${name}withRSA${pss ? '/PSS' : ''}`
      const { status, json } = await world.post('privatekeysign', {
        ...(await gmail('signer')),
        algorithm,
        digest: computeDigest(hash).toString('base64').replace(/=+$/, ''),
        rsa_pss_salt_length: 20,
        wrapped_private_key: wrapped,
      })
      assert.equal(status, 200, `${algorithm} ${json.message}`)
      const padding = pss
        ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 20 }
        : { padding: constants.RSA_PKCS1_PADDING }
      const signature = Buffer.from(json.signature, 'base64')
      assert.ok(
        verify(hash, Buffer.from('SignedAttributes'), { key: publicKey, ...padding }, signature),
        algorithm,
      )
    }
  }
  const record = world.kms.audit.at(-1)
  assert.equal(record?.principal, 'google:alice@example.com')
  assert.equal(record?.details?.vendor_request_id, '<42@example.com>')
  assert.equal(record?.algorithm, 'SHA512withRSA/PSS')
  assert.equal(record?.details?.application, 'gmail')
})

const paddings: readonly (readonly [string, string | undefined])[] = [
  ['RSA/ECB/PKCS1Padding', undefined],
  ['RSA/ECB/OAEPwithSHA-1andMGF1Padding', 'sha1'],
  ['RSA/ECB/OAEPwithSHA-256andMGF1Padding', 'sha256'],
  ['RSA/ECB/OAEPwithSHA-512andMGF1Padding', 'sha512'],
]

function encrypted(oaepHash: string | undefined, label?: Buffer): string {
  const padding =
    oaepHash === undefined
      ? { padding: constants.RSA_PKCS1_PADDING }
      : { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash, ...(label && { oaepLabel: label }) }
  return publicEncrypt({ key: publicKey, ...padding }, Buffer.from(dataKey, 'base64')).toString('base64')
}

test('content keys are decrypted with each algorithm of Gmail, for their user and for an administrator', async () => {
  const authentication = await world.authentication({ email: administrator })
  for (const [algorithm, hash] of paddings) {
    const body = {
      algorithm,
      encrypted_data_encryption_key: encrypted(hash),
      wrapped_private_key: wrapped,
    }
    const own = await world.post('privatekeydecrypt', { ...(await gmail('decrypter')), ...body })
    assert.equal(own.status, 200, own.text)
    assert.deepEqual(own.json, { data_encryption_key: dataKey }, algorithm)
    const exported = await world.post('privilegedprivatekeydecrypt', {
      authentication,
      ...body,
      reason: 'takeout',
      spki_hash: spkiHash(publicKey),
      spki_hash_algorithm: 'SHA-256',
    })
    assert.deepEqual(exported.json, { data_encryption_key: dataKey }, algorithm)
  }
})

test('the label of OAEP is what its base64 stands for, and counts', async () => {
  const label = randomBytes(12)
  const ask = async (rsa_oaep_label?: string) =>
    world.post('privatekeydecrypt', {
      ...(await gmail('decrypter')),
      algorithm: 'RSA/ECB/OAEPwithSHA-256andMGF1Padding',
      encrypted_data_encryption_key: encrypted('sha256', label),
      wrapped_private_key: wrapped,
      ...(rsa_oaep_label !== undefined && { rsa_oaep_label }),
    })
  assert.deepEqual((await ask(label.toString('base64'))).json, { data_encryption_key: dataKey })
  for (const wrong of [undefined, '', randomBytes(12).toString('base64')])
    assert.equal((await ask(wrong)).status, 422, String(wrong))
})

test('a private key is used for the user to whom Google says it belongs, and in its perimeter', async () => {
  const ask = async (claims: JWTPayload, wrapped_private_key = wrapped) =>
    (
      await world.post('privatekeysign', {
        ...(await gmail('signer', claims)),
        ...signing,
        wrapped_private_key,
      })
    ).status
  assert.equal(await ask({}), 200)
  assert.equal(await ask({ spki_hash: spkiHash(other.publicKey) }), 403, 'the key of somebody else')
  assert.equal(await ask({ spki_hash: undefined }), 403, 'no key at all')
  assert.equal(await ask({ spki_hash: '' }), 403)
  assert.equal(await ask({ spki_hash_algorithm: 'MD5' }), 401)
  const inside = await wrapKey(privateKey.export({ format: 'pem', type: 'pkcs8' }) as string, {
    perimeter_id: 'inside',
  })
  assert.equal(await ask({ perimeter_id: 'inside' }, inside), 200)
  assert.equal(await ask({ perimeter_id: 'outside' }, inside), 403)
  assert.equal(await ask({}, inside), 403)
})

test('signers do not decrypt, decrypters do not sign, and a wrapped data key is no private key', async () => {
  const decrypting = {
    algorithm: 'RSA/ECB/PKCS1Padding',
    encrypted_data_encryption_key: encrypted(undefined),
    wrapped_private_key: wrapped,
  }
  const signer = { ...(await gmail('signer')), ...decrypting }
  assert.equal((await world.post('privatekeydecrypt', signer)).status, 403)
  const decrypter = { ...(await gmail('decrypter')), ...signing, wrapped_private_key: wrapped }
  assert.equal((await world.post('privatekeysign', decrypter)).status, 403)
  const { wrapped_key } = (await world.post('wrap', { ...(await world.tokens()), key: dataKey })).json
  const swapped = { ...(await gmail('signer')), ...signing, wrapped_private_key: wrapped_key }
  assert.equal((await world.post('privatekeysign', swapped)).status, 400)
  const opened = await world.post('unwrap', {
    ...(await world.tokens({ resource_name: 'x' })),
    wrapped_key: wrapped.slice(0, 1364),
  })
  assert.equal(opened.status, 400)
})

test('algorithms, digests and lengths that do not fit are refused in words', async () => {
  const cases: readonly (readonly [object, number, RegExp])[] = [
    [{ algorithm: 'MD5withRSA' }, 422, /algorithm: is not supported/],
    [{ algorithm: '__proto__' }, 422, /algorithm: is not supported/],
    [{ algorithm: 'SHA512withRSA' }, 400, /digest: must be 64 bytes/],
    [{ digest: 'x y' }, 400, /digest: is not base64/],
    [{ algorithm: 'SHA256withRSA/PSS', rsa_pss_salt_length: 1000 }, 422, /too long for this key/],
    [{ wrapped_private_key: 'A'.repeat(11_000) }, 400, /longer than 8192 bytes/],
    [{ reason: 'x'.repeat(1025) }, 400, /reason/],
  ]
  for (const [changed, status, message] of cases) {
    const answer = await world.post('privatekeysign', {
      ...(await gmail('signer')),
      ...signing,
      wrapped_private_key: wrapped,
      ...changed,
    })
    assert.equal(answer.status, status, `${JSON.stringify(changed).slice(0, 60)} ${answer.text}`)
    assert.match(answer.json.message, message)
  }
})

test('what does not decrypt says nothing of why', async () => {
  for (const [algorithm, hash] of paddings) {
    const bytes = Buffer.from(encrypted(hash), 'base64')
    bytes.writeUInt8(bytes.readUInt8(100) ^ 1, 100)
    const { status, json } = await world.post('privatekeydecrypt', {
      ...(await gmail('decrypter')),
      algorithm,
      encrypted_data_encryption_key: bytes.toString('base64'),
      wrapped_private_key: wrapped,
    })
    // PKCS#1 v1.5 answers bytes that mean nothing (implicit rejection).
    if (hash === undefined) assert.notEqual(json.data_encryption_key, dataKey)
    else assert.deepEqual([status, json.message], [422, 'Decryption failed.'])
  }
})

test('administrators alone wrap private keys, import and open what was exported', async () => {
  const bodies: Readonly<Record<string, object>> = {
    wrapprivatekey: { private_key: privateKey.export({ format: 'pem', type: 'pkcs8' }) },
    privilegedwrap: { key: dataKey, resource_name: 'item123' },
    privilegedunwrap: { resource_name: 'item123', wrapped_key: 'AAAA' },
    privilegedprivatekeydecrypt: {
      algorithm: 'RSA/ECB/PKCS1Padding',
      encrypted_data_encryption_key: encrypted(undefined),
      wrapped_private_key: wrapped,
      spki_hash: spkiHash(publicKey),
      spki_hash_algorithm: 'SHA-256',
    },
  }
  for (const [operation, body] of Object.entries(bodies)) {
    const ask = async (authentication: string) =>
      (await world.post(operation, { authentication, ...body })).status
    assert.equal(await ask(await world.authentication()), 403, operation)
    assert.equal(await ask(await world.authentication({ email: 'ADMIN@example.com.evil' })), 403)
    assert.equal(await ask(await world.authentication({ email: administrator, aud: 'other' })), 401)
    assert.equal(await ask(await world.authorization({ email: administrator })), 401)
    assert.equal(await ask(''), 401)
  }
  const imported = await world.post('privilegedwrap', {
    authentication: await world.authentication({ email: 'Admin@Example.com' }),
    ...bodies.privilegedwrap,
    perimeter_id: 'inside',
    reason: 'admin import',
  })
  assert.equal(imported.status, 200, imported.text)
  const { wrapped_key } = imported.json
  const opened = await world.post('unwrap', {
    ...(await world.tokens({ perimeter_id: 'inside' })),
    wrapped_key,
  })
  assert.deepEqual(opened.json, { key: dataKey })
  const authentication = await world.authentication({ email: administrator })
  const takeout = {
    authentication,
    resource_name: 'item123',
    wrapped_key,
    reason: "{client:'takeout' op:'read'}",
  }
  const exported = await world.post('privilegedunwrap', takeout)
  assert.deepEqual(exported.json, { key: dataKey })
  assert.equal(world.kms.audit.at(-1)?.principal, `google:${administrator}`)
  assert.equal(world.kms.audit.at(-1)?.details?.reason, "{client:'takeout' op:'read'}")
  assert.equal((await world.post('privilegedunwrap', { ...takeout, resource_name: 'item124' })).status, 400)
  assert.equal(
    (await world.post('privilegedunwrap', { ...takeout, resource_name: 'x'.repeat(129) })).status,
    400,
  )
  const spki = { ...bodies.privilegedprivatekeydecrypt, spki_hash: spkiHash(other.publicKey) }
  assert.equal((await world.post('privilegedprivatekeydecrypt', { authentication, ...spki })).status, 403)
})

test('nothing of a private key or a data key is stored, recorded or logged', async () => {
  const { d } = privateKey.export({ format: 'jwk' })
  const secret = Buffer.from(d ?? '', 'base64url').subarray(0, 32)
  const stored = await world.kms.storedBytes()
  assert.ok(!stored.includes(secret) && !stored.includes(Buffer.from(dataKey, 'base64')))
  const said = JSON.stringify(world.kms.audit) + world.kms.log.join('\n')
  for (const text of [dataKey, wrapped, secret.toString('base64')]) assert.ok(!said.includes(text))
})
