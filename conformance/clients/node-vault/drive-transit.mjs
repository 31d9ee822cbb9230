// Uses keys over the transit interface with node-vault: one line of JSON for each step, passed or with its error.
// Arguments: folder with node_modules, address, token. Runs with NODE_EXTRA_CA_CERTS.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const [folder, endpoint, token] = process.argv.slice(2)
const vault = createRequire(`${folder}/`)('node-vault')({ endpoint, apiVersion: 'v1', token })
const plaintext = Buffer.from('attack at dawn').toString('base64')

async function step(name, act) {
  try {
    await act()
    process.stdout.write(`${JSON.stringify({ step: name, passed: true })}\n`)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    process.stdout.write(`${JSON.stringify({ step: name, passed: false, why })}\n`)
  }
}

await step('health', async () => {
  const { initialized, sealed } = await vault.health()
  assert.deepEqual([initialized, sealed], [true, false])
})
await step('make and read a key', async () => {
  await vault.write('transit/keys/invoices', { type: 'aes256-gcm96' })
  const { data } = await vault.read('transit/keys/invoices')
  assert.equal(data.latest_version, 1)
})
await step('list keys', async () => {
  const { data } = await vault.list('transit/keys')
  assert.deepEqual(data.keys, ['invoices'])
})
let first
await step('encrypt and decrypt', async () => {
  first = await vault.encryptData({ name: 'invoices', plaintext })
  const { data } = await vault.decryptData({ name: 'invoices', ciphertext: first.data.ciphertext })
  assert.equal(data.plaintext, plaintext)
})
await step('rotate and rewrap', async () => {
  await vault.write('transit/keys/invoices/rotate', {})
  const { data } = await vault.write('transit/rewrap/invoices', { ciphertext: first.data.ciphertext })
  assert.match(data.ciphertext, /^vault:v2:/)
})
await step('a data key', async () => {
  const { data } = await vault.write('transit/datakey/plaintext/invoices', {})
  assert.equal(Buffer.from(data.plaintext, 'base64').length, 32)
})
await step('sign and verify', async () => {
  await vault.write('transit/keys/signer', { type: 'ecdsa-p256' })
  const { data } = await vault.write('transit/sign/signer', { input: plaintext })
  const read = await vault.write('transit/verify/signer', { input: plaintext, signature: data.signature })
  assert.equal(read.data.valid, true)
})
await step('hmac with keys of other types', async () => {
  for (const name of ['invoices', 'signer']) {
    const { data } = await vault.write(`transit/hmac/${name}/sha3-256`, { input: plaintext })
    const read = await vault.write(`transit/verify/${name}/sha3-256`, { input: plaintext, hmac: data.hmac })
    assert.equal(read.data.valid, true)
  }
})
await step('what does not open is refused in the words of Vault', () =>
  assert.rejects(vault.write('transit/decrypt/invoices', { ciphertext: 'vault:v1:AAAA' }), ({ response }) => {
    assert.deepEqual([response.statusCode, Object.keys(response.body)], [400, ['errors']])
    return true
  }),
)
