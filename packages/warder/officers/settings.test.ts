import assert from 'node:assert/strict'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { tailAudit } from '@warder/audit'
import { createAgeIdentity } from '@warder/crypto/testing'
import { logInUser, newUser, runInProcess } from '../testing/in-process.ts'
import { runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'

test('other officers, and another root key, take the approval of those before', async () => {
  const home = temporaryHome()
  const name = (officers: readonly string[]) =>
    writeFileSync(
      join(home, 'kms.toml'),
      `[roles]\ncrypto_officer_users = ${JSON.stringify(officers)}\n[approvals]\noperations = ["settings", "root_key"]\ncredential_wait = 0\n`,
    )
  name(['admin', 'ben', 'cid'])
  let warder = await startInstallation({ home })
  try {
    const tokens = {
      admin: await logInUser(warder, 'admin', warder.password),
      ben: await newUser(warder, 'ben'),
      cid: await newUser(warder, 'cid'),
    }
    const run = async (user: keyof typeof tokens, ...words: string[]) => {
      const ran = await runInProcess(warder, words, { token: tokens[user] })
      assert.equal(ran.code, 0, ran.err)
      return ran.out
    }
    const asked = async (...words: string[]) =>
      JSON.parse(await run('admin', 'officers', 'ask', ...words, '--json')).id

    const rotation = await runWarder(['root-key', 'rotate', '--home', home])
    assert.match(rotation.err, /requires the approval of 2 of these crypto officers: admin, ben, cid/)
    const key = await asked('root-key')
    for (const officer of ['ben', 'cid'] as const) await run(officer, 'officers', 'approve', key, '--yes')
    assert.equal((await runWarder(['root-key', 'rotate', '--home', home])).code, 0)
    assert.equal((await runWarder(['root-key', 'rotate', '--home', home])).code, 1, 'once')
    const fresh = { WARDER_ROOT_KEY: Buffer.alloc(32, 1).toString('base64url') }
    const moved = await runWarder(['root-key', 'move', '--to', 'environment', '--home', home], fresh)
    assert.match(moved.err, /requires the approval of 2 of these crypto officers/)
    const [list, output] = [join(home, 'holders'), join(home, 'shares')]
    writeFileSync(
      list,
      ['eve', 'fay'].map((holder) => `${holder} ${createAgeIdentity().recipient}\n`).join(''),
    )
    const shares = ['--holders', list, '--threshold', '2', '--output', output, '--home', home]
    for (const words of [
      ['recovery', 'create'],
      ['move', '--to', 'shares'],
    ]) {
      const refused = await runWarder(['root-key', ...words, ...shares])
      assert.match(refused.err, /requires the approval of 2 of these crypto officers/)
    }
    assert.ok(!existsSync(output), 'no shares are made')

    name(['admin', 'ben', 'dan'])
    const settings = await asked('settings')
    assert.match(
      await run('ben', 'officers', 'requests'),
      /settings: crypto_officer_users = \["admin","ben","dan"\], .*operations = \["settings","root_key"\].*requested by admin/,
    )
    await run('ben', 'officers', 'approve', settings, '--yes')
    assert.match(await run('cid', 'officers', 'approve', settings, '--yes'), /^approved: 2 of 2/)
    await warder.stop()
    warder = await startInstallation({ home })
    await warder.stop()
    name(['admin', 'ben', 'mallory'])
    await assert.rejects(startInstallation({ home }))

    // The officers are gone for good.
    const reset = ['officers', 'reset-policy', '--home', home]
    assert.match((await runWarder(reset)).err, /confirmation needs a terminal; use --yes/)
    await assert.rejects(startInstallation({ home }))
    const done = await runWarder([...reset, '--yes'])
    assert.match(done.out, /officers {4}admin, ben, dan\napprovals {3}settings, root_key\nreset:/)
    assert.match((await runWarder([...reset, '--yes'])).err, /nothing to reset/)
    warder = await startInstallation({ home })
    await warder.stop()
    const records = []
    for await (const line of tailAudit({ folder: join(home, 'audit', 'kms'), format: 'json', lines: 1000 }))
      records.push(JSON.parse(line))
    const record = records.find(({ operation }) => operation === 'access.policy_reset')
    assert.deepEqual(record.details.officers, ['admin', 'ben', 'dan'])
    assert.equal(record.details.by, userInfo().username)
  } finally {
    await warder.stop()
    rmSync(home, { recursive: true, force: true })
  }
})
