import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CaaRecord, checkCaa } from './caa.ts'

const account = 'https://kms.example/acme/1/account/7'

/** Verdict about a name with these records in the DNS. */
async function verdict(
  zone: Readonly<Record<string, readonly CaaRecord[] | string>>,
  name = 'www.acme.example',
) {
  const asked: string[] = []
  const question = { identities: ['ca.example'], name, challenge: 'http-01' as const, account }
  const problem = await checkCaa(question, async (at) => {
    asked.push(at)
    const found = zone[at] ?? 'ENODATA'
    if (typeof found === 'string') throw Object.assign(new Error(found), { code: found })
    return found
  })
  return { allowed: problem === undefined, asked, type: problem?.type }
}
const issue = (value: string, critical = 0): CaaRecord => ({ critical, issue: value })

test('names without records, up to the root, let everybody issue', async () => {
  const { allowed, asked } = await verdict({ 'www.acme.example': 'ENOTFOUND', 'acme.example': [] })
  assert.deepEqual([allowed, asked], [true, ['www.acme.example', 'acme.example', 'example']])
})

test('the nearest records decide', async () => {
  assert.equal((await verdict({ 'acme.example': [issue('ca.example')] })).allowed, true)
  assert.equal((await verdict({ 'acme.example': [issue('CA.Example.')] })).allowed, true)
  const refused = await verdict({ 'acme.example': [issue('other.example')], example: [issue('ca.example')] })
  assert.deepEqual([refused.allowed, refused.asked], [false, ['www.acme.example', 'acme.example']])
  assert.equal(refused.type, 'urn:ietf:params:acme:error:caa')
  assert.equal(
    (await verdict({ 'acme.example': [issue('other.example'), issue('ca.example')] })).allowed,
    true,
  )
  assert.equal((await verdict({ 'acme.example': [issue(';')] })).allowed, false, 'nobody may')
  assert.equal((await verdict({ 'acme.example': [{ critical: 0, iodef: 'mailto:x@y' }] })).allowed, true)
})

test('what cannot be looked up, or is critical and not understood, lets nobody issue', async () => {
  for (const code of ['ESERVFAIL', 'ETIMEOUT', 'EREFUSED'])
    assert.equal(
      (await verdict({ 'acme.example': code, example: [issue('ca.example')] })).allowed,
      false,
      code,
    )
  const unknown = { critical: 128, tbs: 'x' }
  assert.equal((await verdict({ 'acme.example': [issue('ca.example'), unknown] })).allowed, false)
  assert.equal(
    (await verdict({ 'acme.example': [issue('ca.example'), { ...unknown, critical: 0 }] })).allowed,
    true,
  )
})

test('wildcards have a property of their own', async () => {
  const wild = (value: string): CaaRecord => ({ critical: 0, issuewild: value })
  const both = { 'acme.example': [issue('ca.example'), wild('other.example')] }
  assert.equal((await verdict(both)).allowed, true)
  assert.equal((await verdict(both, '*.acme.example')).allowed, false)
  assert.equal((await verdict({ 'acme.example': [issue('ca.example')] }, '*.acme.example')).allowed, true)
  assert.equal((await verdict({ 'acme.example': [wild('other.example')] })).allowed, true)
})

test('parameters name the account and the ways of proof (RFC 8657)', async () => {
  const of = async (parameters: string) =>
    (await verdict({ 'acme.example': [issue(`ca.example; ${parameters}`)] })).allowed
  assert.equal(await of(`accounturi=${account}`), true)
  assert.equal(await of('accounturi=https://kms.example/acme/1/account/8'), false)
  assert.equal(await of('validationmethods=dns-01,http-01'), true)
  assert.equal(await of('validationmethods=dns-01'), false)
  assert.equal(await of('policy=ev'), true)
  assert.equal(await of('???'), false, 'it cannot be read')
})
