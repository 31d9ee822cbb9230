import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newUser } from '../testing/in-process.ts'
import { runWarder, startSharedInstallation } from '../testing/installation.ts'

const warder = await startSharedInstallation({ KMS_PENDING_DESTRUCTION_DAYS: '7' })

test('warder try changes a password, passes where destruction waits, and leaves no user behind', async () => {
  const { code, out, err } = await runWarder(['try', '--home', warder.home])
  assert.equal(code, 0, err + out)
  assert.match(out, /^ {2}ok {2}make a user +warder-try-[0-9a-f]{12}$/m)
  assert.match(
    out,
    /^ {2}ok {2}change the password of that user +the new one logs in, the old one does not$/m,
  )
  assert.match(out, /^ {2}ok {2}delete the keys +4 deleted, 4 of them wait for it$/m)
  assert.match(out, /^all 21 steps passed$/m)
  const auth = warder.client('auth')
  const headers = { cookie: `_ea_=${await warder.adminToken()}` }
  const { text } = await auth.ask('/realms/_/userpass', { headers })
  auth.close()
  assert.doesNotMatch(text, /warder-try-/)
})

test('warder try of a user who makes no users says so, and passes', async () => {
  await newUser(warder, 'ann')
  const { code, out, err } = await runWarder(['try', '--home', warder.home, '--user', 'ann'], {
    WARDER_TRY_PASSWORD: 'the password of ann',
  })
  assert.equal(code, 0, err + out)
  assert.match(out, /^ {2}ok {2}make a user +403: only administrators make users/m)
  assert.match(out, /^all 19 steps passed$/m)
})
