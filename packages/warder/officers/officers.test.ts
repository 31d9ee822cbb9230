import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { logInUser, newUser, runInProcess } from '../testing/in-process.ts'
import { startInstallation, temporaryHome } from '../testing/installation.ts'

test('an owner asks, officers read what it is and approve, and the key is gone', async () => {
  const warder = await startInstallation({
    env: {
      KMS_ROLES_CRYPTO_OFFICER_USERS: 'admin,ben,cid',
      KMS_APPROVALS_OPERATIONS: 'destroy,grant',
      KMS_APPROVALS_CREDENTIAL_WAIT: '0',
    },
  })
  try {
    const tokens = {
      admin: await logInUser(warder, 'admin', warder.password),
      ben: await newUser(warder, 'ben'),
      cid: await newUser(warder, 'cid'),
    }
    const run = (user: keyof typeof tokens, ...words: string[]) =>
      runInProcess(warder, words, { token: tokens[user] })
    const made = await run('ben', 'keys', 'create', '--alg', 'A256GCM', '--json')
    const { kid } = JSON.parse(made.out)
    assert.match((await run('ben', 'keys', 'destroy', kid, '--yes')).err, /approval of 2 crypto officers/)
    const asked = await run('ben', 'officers', 'ask', 'destroy', kid, '--json')
    assert.equal(asked.code, 0, asked.err)
    const { id } = JSON.parse(asked.out)
    assert.match((await run('cid', 'officers', 'requests')).out, /open 0\/2 +destroy, key .*requested by ben/)
    assert.match((await run('ben', 'officers', 'approve', id, '--yes')).err, /own request/)
    assert.match((await run('cid', 'officers', 'approve', id, '--yes')).out, /^open: 1 of 2 approvals/)
    assert.match((await run('admin', 'officers', 'approve', id, '--yes')).out, /^done: 2 of 2 approvals/)
    assert.match((await run('ben', 'keys', 'show', kid)).err, /key does not exist/)
    assert.match((await run('ben', 'officers', 'requests')).out, /there are no requests/)
    assert.match((await run('ben', 'officers', 'requests', '--all')).out, /done 2\/2/)
    const other = JSON.parse((await run('ben', 'keys', 'create', '--alg', 'A256GCM', '--json')).out).kid
    assert.equal((await run('ben', 'officers', 'ask', 'grant', other)).code, 2)
    const typo = await run('ben', 'officers', 'ask', 'grant', other, 'eve', 'get')
    assert.match(typo.err, /The user eve is not known/)
    const grant = JSON.parse(
      (await run('ben', 'officers', 'ask', 'grant', other, 'eve', 'get', '--anyway', '--json')).out,
    )
    assert.match((await run('cid', 'officers', 'refuse', grant.id, '--yes')).out, /^refused: 0 of 2/)
    assert.match((await run('ben', 'officers', 'withdraw', grant.id)).err, /closed: refused/)
  } finally {
    await warder.stop()
  }
})

test('three users who become officers hold a ceremony with the command at once, and end it', async () => {
  const home = temporaryHome()
  const officers = {
    KMS_ROLES_CRYPTO_OFFICER_USERS: 'admin,ben,cid',
    KMS_ROLES_CRYPTO_OFFICER_REQUIRE_CEREMONY: 'true',
  }
  let warder = await startInstallation({ home })
  try {
    const tokens = {
      admin: await logInUser(warder, 'admin', warder.password),
      ben: await newUser(warder, 'ben'),
      cid: await newUser(warder, 'cid'),
      eve: await newUser(warder, 'eve'),
    }
    await warder.stop()
    warder = await startInstallation({ home, env: officers })
    const run = (user: keyof typeof tokens, ...words: string[]) =>
      runInProcess(warder, ['officers', ...words], { token: tokens[user] })
    const ok = async (user: keyof typeof tokens, ...words: string[]) => {
      const { code, out, err } = await run(user, ...words)
      assert.equal(code, 0, err)
      return out
    }
    assert.match((await run('ben', 'activate')).err, /There has been no ceremony yet/)
    assert.match(await ok('eve', 'status'), /not listed/)
    assert.match((await run('eve', 'begin')).err, /Access denied/)
    assert.match(await ok('ben', 'begin'), /your share is .*#2/)
    assert.match((await run('ben', 'activate')).err, /needs the shares of 2 officers, but you have 1/)
    assert.match((await run('cid', 'give', 'eve')).err, /not an officer of the latest ceremony/)
    assert.match(await ok('cid', 'give', 'ben'), /ben may use your share/)
    assert.match(await ok('ben', 'activate'), /active crypto officer until 20/)
    assert.match(await ok('admin', 'status'), /^admin +dormant\nben +active\ncid +dormant$/m)
    assert.match((await run('ben', 'activate')).err, /already activated you: begin a new one/)
    assert.match(await ok('cid', 'disable', 'ben'), /ben is no longer an active crypto officer/)
    assert.match((await run('cid', 'disable', 'ben')).err, /ben is not active/)
    assert.match((await run('ben', 'activate')).err, /you have 1/)
  } finally {
    await warder.stop()
    rmSync(home, { recursive: true, force: true })
  }
})
