import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newUser, runInProcess } from '../testing/in-process.ts'
import { runWarder, startInstallation } from '../testing/installation.ts'

test('records are found by an alias of their key, and an alias of several owners has to name one', async () => {
  const warder = await startInstallation()
  try {
    const kid = JSON.parse(
      (await runInProcess(warder, ['keys', 'create', '--alg', 'A256GCM', '--json'])).out,
    ).kid
    const given = await runInProcess(warder, ['keys', 'alias', 'invoices', kid])
    assert.equal(given.code, 0, given.err)
    const find = (key: string) => runWarder(['audit', 'export', '--home', warder.home, '--key', key])
    const byId = await find(kid)
    assert.match(byId.out, /crypto/)
    const byAlias = await find('alias/invoices')
    assert.equal(byAlias.code, 0, byAlias.err)
    assert.equal(byAlias.out, byId.out)
    assert.match((await find('alias/none')).err, /no key has the alias alias\/none: use the id of the key/)

    const token = await newUser(warder, 'ann')
    const hers = JSON.parse(
      (await runInProcess(warder, ['keys', 'create', '--alg', 'A256GCM', '--json'], { token })).out,
    ).kid
    assert.equal((await runInProcess(warder, ['keys', 'alias', 'invoices', hers], { token })).code, 0)
    const both =
      /several owners have an alias alias\/invoices: use one of alias\/invoices@admin, alias\/invoices@ann/
    assert.match((await find('alias/invoices')).err, both)
    assert.equal((await find('alias/invoices@ann')).out, (await find(hers)).out)
  } finally {
    await warder.stop()
  }
})
