// Lives as a machine with node-vault: one line of JSON for each step, passed or with its error.
// Arguments: folder with node_modules, address, role id, secret id. Runs with NODE_EXTRA_CA_CERTS.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const [folder, endpoint, roleId, secretId] = process.argv.slice(2)
const vault = createRequire(`${folder}/`)('node-vault')
const client = (token) => vault({ endpoint, apiVersion: 'v1', ...(token && { token }) })

async function step(name, act) {
  try {
    await act()
    process.stdout.write(`${JSON.stringify({ step: name, passed: true })}\n`)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    process.stdout.write(`${JSON.stringify({ step: name, passed: false, why })}\n`)
  }
}

let machine
await step('log in', async () => {
  const { auth } = await client().approleLogin({ role_id: roleId, secret_id: secretId })
  assert.equal(auth.renewable, true)
  machine = client(auth.client_token)
})
await step('look itself up', async () => {
  const { data } = await machine.tokenLookupSelf()
  assert.ok(data.ttl > 0)
})
await step('renew itself', async () => {
  const { auth } = await machine.tokenRenewSelf()
  assert.ok(auth.lease_duration > 0)
})
await step('a wrong secret id is refused in the words of Vault', async () => {
  const wrong = client().approleLogin({ role_id: roleId, secret_id: 'another' })
  await assert.rejects(wrong, ({ response }) => {
    assert.equal(response.statusCode, 400)
    assert.equal(response.body.errors.length, 1)
    return true
  })
})
await step('end itself', () => machine.tokenRevokeSelf())
await step('after its end it is refused', () =>
  assert.rejects(machine.tokenLookupSelf(), ({ response }) => response.statusCode === 403),
)
