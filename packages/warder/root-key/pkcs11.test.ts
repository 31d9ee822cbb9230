import assert from 'node:assert/strict'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createSofthsmToken, missingSofthsm } from '@warder/pkcs11/testing'
import { readCommands, runCommands } from '../testing/guide.ts'
import { runWarder, startInstallation } from '../testing/installation.ts'

test('a root key moves into a PKCS#11 token and back, and an installation begins with one', {
  skip: missingSofthsm,
}, async () => {
  using softhsm = createSofthsmToken()
  const { library, label, pinFile, folder } = softhsm
  const settings = {
    ROOT_KEY_PKCS11_LIBRARY: library,
    ROOT_KEY_PKCS11_TOKEN_LABEL: label,
    ROOT_KEY_PKCS11_PIN_FILE: pinFile,
  }
  const forBoth = (more: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(
      ['AUTH', 'KMS'].flatMap((name) =>
        Object.entries(more).map(([key, value]) => [`${name}_${key}`, value]),
      ),
    )
  const { SOFTHSM2_CONF = '' } = softhsm.env
  const fromFile = { ...forBoth(settings), SOFTHSM2_CONF }
  const fromToken = { ...fromFile, ...forBoth({ ROOT_KEY_SOURCE: 'pkcs11' }) }
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  const start = async (env: Readonly<Record<string, string>>): Promise<string> => {
    const warder = await startInstallation({ home, env })
    await warder.stop()
    return warder.output()
  }
  const run = async (words: readonly string[], env: Readonly<Record<string, string>>): Promise<string> => {
    const { code, out, err } = await runWarder([...words, '--home', home], env)
    assert.equal(code, 0, out + err)
    return out + err
  }
  const refuse = async (words: readonly string[], env: Readonly<Record<string, string>>): Promise<string> => {
    const { code, out, err } = await runWarder([...words, '--home', home], env)
    assert.notEqual(code, 0)
    return out + err
  }
  await start(fromFile)
  const missing = await refuse(['root-key', 'test', '--to', 'pkcs11'], fromFile)
  assert.match(
    missing,
    /the token has no secret key "warder root key"; the first start, warder root-key move/,
  )
  assert.match(await run(['root-key', 'move', '--to', 'pkcs11'], fromFile), /set root_key_source = "pkcs11"/)
  assert.match(
    await run(['root-key', 'test', '--to', 'pkcs11'], fromFile),
    /key "warder root key": a random value/,
  )
  rmSync(join(home, 'root.key'))
  assert.doesNotMatch(await start(fromToken), /ExperimentalWarning/)
  const shown = await run(['root-key', 'show'], fromToken)
  assert.equal(shown.match(/usable {3}yes/g)?.length, 2, shown)
  assert.match(shown, /token "warder test" of \S+, key "warder root key"/)
  await run(['root-key', 'rotate'], fromToken)
  writeFileSync(pinFile, 'wrong-pin')
  assert.match(await refuse(['check'], fromToken), /refuses the PIN of \S+ \(C_Login: CKR_PIN_INCORRECT\)/)
  writeFileSync(pinFile, softhsm.pin)
  await run(['root-key', 'move', '--to', 'file'], fromToken)
  assert.ok(existsSync(join(home, 'root.key')))
  await start(fromFile)

  rmSync(home, { recursive: true })
  mkdirSync(home, { mode: 0o700 })
  await start(fromToken)
  assert.ok(!existsSync(join(home, 'root.key')))
  await run(['check'], fromToken)

  // The settings are only in environment variables, which a backup does not contain.
  const [backup, passphrase] = [join(folder, 'a.backup'), join(folder, 'passphrase')]
  writeFileSync(passphrase, 'correct horse battery staple\n', { mode: 0o600 })
  const secret = ['--passphrase-file', passphrase]
  await run(['backup', backup, ...secret], fromToken)
  assert.match(await run(['drill', backup, ...secret], fromToken), /the drill was successful/)
  assert.match(
    await refuse(['drill', backup, ...secret], { SOFTHSM2_CONF }),
    /requires either root_key_pkcs11\.token_label/,
  )

  softhsm.addToken('spare')
  const tokens = 'pkcs11:token=warder%20test,pkcs11:token=spare'
  const several = { ...fromToken, ...forBoth({ ROOT_KEY_PKCS11_TOKENS: tokens }) }
  for (const service of ['AUTH', 'KMS'])
    Reflect.deleteProperty(several, `${service}_ROOT_KEY_PKCS11_TOKEN_LABEL`)
  assert.match(
    await run(['root-key', 'show'], several),
    /opens {4}token "warder test"[\s\S]*fails {4}token "spare" .*: /,
  )
  await run(['root-key', 'rotate'], several)
  assert.equal((await run(['root-key', 'test'], several)).match(/was wrapped and unwrapped/g)?.length, 4)
  softhsm.run('softhsm2-util', '--delete-token', '--token', 'warder test')
  const warder = await startInstallation({ home, env: several })
  const client = warder.client('kms')
  const until = performance.now() + 60_000
  for (let text = ''; !text.includes('number 1 of the settings cannot be used'); ) {
    const reply = await client.ask('/health')
    assert.equal(reply.status, 200)
    text = reply.text
    assert.ok(performance.now() < until, text)
    await delay(200)
  }
  client.close()
  await warder.stop()
  assert.match(
    warder.output(),
    /"source":"token \\"warder test\\"[^\n]*one of the tokens cannot open the root key/,
  )
})

test('the commands and the settings of the page on hardware security modules work', {
  skip: missingSofthsm,
}, async () => {
  const page = 'docs/how-to/hsm.md'
  using softhsm = createSofthsmToken()
  const { library, folder } = softhsm
  const { SOFTHSM2_CONF = '' } = softhsm.env
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  const warder = await startInstallation({ home, env: {} })
  await warder.stop()
  const replace = (text: string): string =>
    text
      .replaceAll('/usr/lib/softhsm/libsofthsm2.so', library)
      .replaceAll('/etc/warder/', `${folder}/`)
      .replaceAll('/var/lib/warder', home)
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8')
  const [, settings = ''] = /```toml\n([\s\S]*?)```/.exec(text) ?? []
  for (const service of ['auth', 'kms'])
    appendFileSync(join(home, `${service}.toml`), `\n${replace(settings)}`)
  const commands = readCommands(page).map(replace)
  const run = await runCommands(commands, folder, { SOFTHSM2_CONF })
  assert.equal(run.status, 0, run.text)
  assert.equal(run.text.match(/usable {3}yes/g)?.length, 2, run.text)
  assert.match(run.text, /token "warder" of \S+, key "warder root key"/)
})
