import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newUser, startCommandFixture } from '../testing/in-process.ts'

const secret = 'a secret of more than thirty-two characters'
const { warder, run, json, output, fails } = await startCommandFixture(['status'], {
  KMS_APPROVALS_WEBHOOK_SECRET: secret,
  KMS_APPROVALS_WEBHOOK_URL: `https://ann:${secret}@example.com/hook?token=${secret}`,
  KMS_NOTICES: 'block=webhook',
})

test('both services show their certificates, disks, databases, nodes and changed settings, without secrets', async () => {
  for (const service of ['kms', 'auth']) {
    const details = await json([service])
    assert.equal(details.service, service)
    const pem = readFileSync(join(warder.home, 'tls', `${service}.crt`), 'utf8')
    const { fingerprint256, validToDate } = new X509Certificate(pem)
    const https = details.certificates.find(({ use }: { use: string }) => use === 'https')
    assert.deepEqual([https.sha256, https.not_after], [fingerprint256, validToDate.toISOString()])
    assert.equal(details.database.location, join(warder.home, `${service}.db`))
    assert.ok(details.database.bytes > 0 && details.disks[0].free_bytes > 0)
    const [node, ...others] = details.nodes
    assert.deepEqual([node.answered, node.node, others], [true, details.node, []])
    assert.ok(node.records > 0)
    assert.deepEqual(details.root_key, { source: 'file', usable: true, sealed: false })
    const about = details.problems.map(({ about }: { about: string }) => about)
    assert.ok(
      about.every((one: string) => one === 'backups' || one === 'disks'),
      about.join(),
    )
  }
  const { settings } = await json(['kms'])
  const find = (name: string) => settings.find((setting: { name: string }) => setting.name === name)
  assert.deepEqual(find('approvals.webhook_secret'), {
    name: 'approvals.webhook_secret',
    from: 'environment',
  })
  assert.equal(find('approvals.webhook_url').value, 'https://…@example.com/…')
  assert.equal(find('clients_ca_cert_file').from, 'file')
  assert.equal(find('audit_enabled'), undefined)
  assert.ok(!JSON.stringify(settings).includes(secret))
})

test('the text has problems first, with the command that helps, and no secret', async () => {
  const text = await output(['kms'])
  assert.match(
    text,
    /^kms \S+ on node .*\n.*\n? *warning {2}This node knows no backup\. .*\n +warder backup FILE/m,
  )
  assert.match(text, /^approvals\.webhook_secret +\[secret\] +environment$/m)
  assert.match(text, /^https +\d{4}-\d\d-\d\d +CN=Warder kms/m)
  assert.ok(!text.includes(secret))
  assert.match(await output(['auth']), /^auth \S+ on node /)
})

test('other users are refused, and unknown services are no verbs', async () => {
  const token = await newUser(warder, 'bob')
  for (const service of ['kms', 'auth'])
    await fails([service], /forbidden|not allowed|may not|for super administrators|not permitted/i, { token })
  assert.equal((await run(['other'])).code, 2)
})
