// Drives a server with cloudproof_kms_js as it was published: one line of JSON for each step, passed or with its error.
// Arguments: folder with node_modules, address, token of alice. Runs with NODE_EXTRA_CA_CERTS.
import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes, randomUUID, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const [folder, url, token] = process.argv.slice(2)
const {
  AccessPolicyKms,
  CryptographicAlgorithm,
  CryptographicParameters,
  KMIPOperations,
  KeyFormatType,
  KmsClient,
  Link,
  LinkType,
  PolicyKms,
  RevocationReasonEnumeration,
  BlockCipherMode,
  SymmetricKeyAlgorithm,
} = createRequire(`${folder}/`)('cloudproof_kms_js')
const kms = new KmsClient(url, token)

async function step(name, act) {
  try {
    await act()
    process.stdout.write(`${JSON.stringify({ step: name, passed: true })}\n`)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    process.stdout.write(`${JSON.stringify({ step: name, passed: false, why })}\n`)
  }
}

async function refused(act) {
  await assert.rejects(act)
}

/** The client has no Activate, so its user sends the request to the same address. */
async function activate(id) {
  const value = [{ tag: 'UniqueIdentifier', type: 'TextString', value: id }]
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const body = JSON.stringify({ tag: 'Activate', value })
  const { status } = await fetch(new URL('kmip/2_1', url), { method: 'POST', headers, body })
  assert.equal(status, 200)
}

const bytesOf = (key) => Buffer.from(key.keyBlock.bytes())
const tag = `tag ${randomUUID()}`
const other = `other ${randomUUID()}`
const material = randomBytes(32)

await step('version', async () => assert.equal(await kms.up(), true))

let created
await step('createSymmetricKey', async () => {
  created = await kms.createSymmetricKey(SymmetricKeyAlgorithm.AES, 256, [], [tag, other])
  assert.equal(typeof created, 'string')
})
await step('createSymmetricKey without a length', async () => {
  const key = await kms.retrieveSymmetricKey(await kms.createSymmetricKey())
  assert.equal(bytesOf(key).length, 32)
})
await step('createSymmetricKey ChaCha20', async () => {
  const key = await kms.retrieveSymmetricKey(
    await kms.createSymmetricKey(SymmetricKeyAlgorithm.ChaCha20, 256),
  )
  assert.equal(key.keyBlock.cryptographicAlgorithm, CryptographicAlgorithm.ChaCha20)
})
await step('retrieveSymmetricKey', async () => {
  const key = await kms.retrieveSymmetricKey(created)
  assert.equal(bytesOf(key).length, 32)
  assert.equal(key.keyBlock.keyFormatType, KeyFormatType.TransparentSymmetricKey)
})
await step('getObject', async () => {
  const object = await kms.getObject(created)
  assert.equal(object.type, 'SymmetricKey')
  assert.equal(bytesOf(object.value).length, 32)
})

const imported = randomUUID()
await step('importSymmetricKey', async () => {
  assert.equal(await kms.importSymmetricKey(imported, material), imported)
  assert.deepEqual(bytesOf(await kms.retrieveSymmetricKey(imported)), material)
})
await step('importSymmetricKey in place of another', async () => {
  const again = randomBytes(32)
  await refused(() => kms.importSymmetricKey(imported, again))
  assert.equal(await kms.importSymmetricKey(imported, again, true), imported)
  assert.deepEqual(bytesOf(await kms.retrieveSymmetricKey(imported)), again)
})

await step('getUniqueIdentifiersByTags', async () => {
  assert.deepEqual(await kms.getUniqueIdentifiersByTags([tag]), [created])
  assert.deepEqual(await kms.getUniqueIdentifiersByTags([tag, other]), [created])
  assert.deepEqual(await kms.getUniqueIdentifiersByTags([randomUUID()]), [])
})
await step('getObjectsByTags', async () => {
  const [object, ...more] = await kms.getObjectsByTags([tag])
  assert.equal(more.length, 0)
  assert.equal(bytesOf(object.value).length, 32)
})

await activate(imported)
await step('encrypt and decrypt', async () => {
  const cryptographicParameters = new CryptographicParameters()
  cryptographicParameters.cryptographicAlgorithm = CryptographicAlgorithm.AES
  cryptographicParameters.blockCipherMode = BlockCipherMode.GCM
  const plain = Buffer.from('attack at dawn')
  const authenticatedEncryptionAdditionalData = Buffer.from('orders')
  const sealed = await kms.encrypt(imported, plain, {
    cryptographicParameters,
    authenticatedEncryptionAdditionalData,
  })
  const open = {
    cryptographicParameters,
    ivCounterNonce: sealed.ivCounterNonce,
    authenticatedEncryptionTag: sealed.authenticatedEncryptionTag,
    authenticatedEncryptionAdditionalData,
  }
  assert.deepEqual(Buffer.from(await kms.decrypt(imported, sealed.data, open)), plain)
  const changed = Uint8Array.from(sealed.data, (byte, at) => (at === 0 ? byte ^ 1 : byte))
  await refused(() => kms.decrypt(imported, changed, open))
})
await step('encrypt and decrypt without parameters', async () => {
  const plain = Buffer.from('attack at dusk')
  const { data, ivCounterNonce, authenticatedEncryptionTag } = await kms.encrypt(imported, plain, {})
  const open = { ivCounterNonce, authenticatedEncryptionTag }
  assert.deepEqual(Buffer.from(await kms.decrypt(imported, data, open)), plain)
})

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const { privateKey: rsaKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
for (const [name, bytes, keyFormatType] of [
  ['SEC 1', privateKey.export({ format: 'der', type: 'sec1' }), undefined],
  ['PKCS#8', privateKey.export({ format: 'der', type: 'pkcs8' }), KeyFormatType.PKCS8],
  ['RSA, PKCS#1', rsaKey.export({ format: 'der', type: 'pkcs1' }), KeyFormatType.PKCS1],
]) {
  await step(`importPrivateKey ${name}`, async () => {
    const id = randomUUID()
    const options = keyFormatType === undefined ? {} : { keyFormatType }
    assert.equal(await kms.importPrivateKey(id, bytes, [tag], false, options), id)
    const object = await kms.getObject(id, options)
    assert.equal(object.type, 'PrivateKey')
    assert.ok(bytesOf(object.value).length > 0)
  })
}
const certificate = new X509Certificate(readFileSync(process.env.NODE_EXTRA_CA_CERTS))
await step('importCertificate', async () => {
  const id = randomUUID()
  assert.equal(await kms.importCertificate(id, certificate.raw, [tag]), id)
  const object = await kms.getObject(id)
  assert.equal(object.type, 'Certificate')
  assert.deepEqual(Buffer.from(object.value.certificateValue), certificate.raw)
})
await step('importCertificate with its private key', async () => {
  const key = randomUUID()
  const id = randomUUID()
  await kms.importPrivateKey(key, privateKey.export({ format: 'der', type: 'sec1' }), [], false, {
    certificateIdentifier: id,
  })
  const linked = { privateKeyIdentifier: key }
  assert.equal(await kms.importCertificate(id, certificate.raw, [], false, linked), id)
})

await step('getWrappedKey and importKey', async () => {
  const kek = await kms.createSymmetricKey()
  await activate(kek)
  const wrapped = await kms.getWrappedKey(created, kek)
  assert.equal(wrapped.type, 'SymmetricKey')
  const asWrapped = randomUUID()
  assert.equal(await kms.importKey(asWrapped, wrapped, false), asWrapped)
  const opened = randomUUID()
  assert.equal(await kms.importKey(opened, wrapped, true), opened)
  assert.deepEqual(
    bytesOf(await kms.retrieveSymmetricKey(opened)),
    bytesOf(await kms.retrieveSymmetricKey(created)),
  )
})

await step('grantAccess, listAccess, revokeAccess', async () => {
  await kms.grantAccess(created, 'bob', [KMIPOperations.get, KMIPOperations.encrypt])
  assert.match(await (await kms.listAccess(created)).text(), /bob/)
  await kms.revokeAccess(created, 'bob', [KMIPOperations.get, KMIPOperations.encrypt])
  assert.doesNotMatch(await (await kms.listAccess(created)).text(), /bob/)
})
await step('listOwnedObjects, listObtainedObjects', async () => {
  assert.match(await (await kms.listOwnedObjects()).text(), new RegExp(created))
  assert.doesNotMatch(await (await kms.listObtainedObjects()).text(), new RegExp(created))
})

await step('revokeSymmetricKey', () => kms.revokeSymmetricKey(created, 'no longer needed'))
await step('revokeObject with a reason of the enumeration', () =>
  kms.revokeObject(imported, RevocationReasonEnumeration.CessationOfOperation),
)
await step('destroySymmetricKey', async () => {
  await kms.destroySymmetricKey(created)
  await refused(() => kms.retrieveSymmetricKey(created))
})

/** Keys of Covercrypt 16 as somebody has them, made at the same address: the client cannot make these. */
async function masterKeys(structure) {
  const common = [
    { tag: 'CryptographicAlgorithm', type: 'Enumeration', value: 'CoverCrypt' },
    {
      tag: 'Attribute',
      value: [
        { tag: 'VendorIdentification', type: 'TextString', value: 'cosmian' },
        { tag: 'AttributeName', type: 'TextString', value: 'cover_crypt_access_structure' },
        { tag: 'AttributeValue', type: 'TextString', value: JSON.stringify(structure) },
      ],
    },
  ]
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const body = JSON.stringify({ tag: 'CreateKeyPair', value: [{ tag: 'CommonAttributes', value: common }] })
  const answer = await fetch(new URL('kmip/2_1', url), { method: 'POST', headers, body })
  const { value } = await answer.json()
  const idIn = (tag) => value.find((one) => one.tag === tag).value
  return {
    secret: bytesOf(await kms.retrieveCoverCryptSecretMasterKey(idIn('PrivateKeyUniqueIdentifier'))),
    open: bytesOf(await kms.retrieveCoverCryptPublicMasterKey(idIn('PublicKeyUniqueIdentifier'))),
  }
}

const policy = new PolicyKms(Buffer.from('{"Department":["FIN","HR"]}'))
const secretId = randomUUID()
const openId = randomUUID()
const made = await masterKeys({ Department: ['FIN', 'HR'], 'Level::<': ['Open', 'Secret'] })
await step('importCoverCryptPublicMasterKey', async () => {
  assert.equal(await kms.importCoverCryptPublicMasterKey(openId, { bytes: made.open, policy }), openId)
  assert.deepEqual(bytesOf(await kms.retrieveCoverCryptPublicMasterKey(openId)), made.open)
  await activate(openId)
})
await step('importCoverCryptSecretMasterKey', async () => {
  const link = [new Link(LinkType.PublicKeyLink, openId)]
  const key = { bytes: made.secret, policy }
  assert.equal(await kms.importCoverCryptSecretMasterKey(secretId, key, { link }), secretId)
  assert.deepEqual(bytesOf(await kms.retrieveCoverCryptSecretMasterKey(secretId)), made.secret)
})
let user
await step('createCoverCryptUserDecryptionKey', async () => {
  user = await kms.createCoverCryptUserDecryptionKey('Department::FIN && Level::Secret', secretId, [tag])
})
await step('importCoverCryptUserDecryptionKey', async () => {
  const id = randomUUID()
  const bytes = bytesOf(await kms.retrieveCoverCryptUserDecryptionKey(user))
  const key = { bytes, policy: new AccessPolicyKms('Department::FIN && Level::Secret') }
  assert.equal(await kms.importCoverCryptUserDecryptionKey(id, key), id)
  assert.deepEqual(bytesOf(await kms.retrieveCoverCryptUserDecryptionKey(id)), bytes)
})
const sealFor = (policyText, options = {}) =>
  kms.coverCryptEncrypt(openId, policyText, Buffer.from('figures'), options)
await step('coverCryptEncrypt, coverCryptDecrypt', async () => {
  const opened = await kms.coverCryptDecrypt(user, await sealFor('Department::FIN && Level::Open'))
  assert.equal(Buffer.from(opened.plaintext).toString(), 'figures')
  await refused(async () => kms.coverCryptDecrypt(user, await sealFor('Department::HR')))
})
await step('coverCryptEncrypt, coverCryptDecrypt with header metadata and authentication data', async () => {
  const authenticationData = Buffer.from('orders')
  const headerMetadata = Buffer.from('2026')
  const sealed = await sealFor('Department::FIN', { headerMetadata, authenticationData })
  const opened = await kms.coverCryptDecrypt(user, sealed, { authenticationData })
  assert.deepEqual(Buffer.from(opened.headerMetadata), headerMetadata)
  assert.equal(Buffer.from(opened.plaintext).toString(), 'figures')
  await refused(() => kms.coverCryptDecrypt(user, sealed))
})
await step('rekeyCoverCryptAccessPolicy, pruneCoverCryptAccessPolicy', async () => {
  const before = await sealFor('Department::FIN')
  assert.deepEqual(await kms.rekeyCoverCryptAccessPolicy(secretId, 'Department::FIN'), [secretId, openId])
  for (const sealed of [before, await sealFor('Department::FIN')])
    assert.equal(Buffer.from((await kms.coverCryptDecrypt(user, sealed)).plaintext).toString(), 'figures')
  await kms.pruneCoverCryptAccessPolicy(secretId, 'Department::FIN')
  await refused(() => kms.coverCryptDecrypt(user, before))
})
await step('add, rename, disable, removeCoverCryptAttribute', async () => {
  await kms.addCoverCryptAttribute(secretId, 'Department::MKG', false)
  await kms.renameCoverCryptAttribute(secretId, 'Department::MKG', 'Marketing')
  await sealFor('Department::Marketing')
  await kms.disableCoverCryptAttribute(secretId, 'Department::Marketing')
  await refused(() => sealFor('Department::Marketing'))
  await kms.removeCoverCryptAttribute(secretId, 'Department::Marketing')
  await refused(() => sealFor('Department::Marketing'))
})
await step('revokeCoverCryptUserDecryptionKey', async () => {
  await kms.revokeCoverCryptUserDecryptionKey(user, 'done')
  await kms.rekeyCoverCryptAccessPolicy(secretId, 'Department::FIN')
  await refused(async () => kms.coverCryptDecrypt(user, await sealFor('Department::FIN')))
})
const former = 'Covercrypt before version 16: '
await step(`${former}createCoverCryptMasterKeyPair`, async () => {
  await kms.createCoverCryptMasterKeyPair(policy)
})
await step(`${former}coverCryptBulkEncrypt`, async () => {
  await kms.coverCryptBulkEncrypt(openId, 'Department::FIN', [Buffer.from('figures'), Buffer.from('more')])
})
await step(`${former}importCoverCryptSecretMasterKey of a key of its own`, async () => {
  await kms.importCoverCryptSecretMasterKey(randomUUID(), { bytes: randomBytes(64), policy })
})
