import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { test } from 'node:test'

/** Files that Node loads for a module, in the order in which it loads them. */
function listLoaded(path: string): readonly string[] {
  const loader = `
    const { registerHooks } = require('node:module')
    registerHooks({ load: (url, context, next) => (process.stdout.write(url + '\\n'), next(url, context)) })
    import(process.argv[1])`
  const module = new URL(path, import.meta.url).href
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', loader, module], { encoding: 'utf8' })
  const loaded = stdout.split('\n').filter((url) => url.startsWith('file:'))
  assert.ok(loaded.includes(module), stderr)
  return loaded
}

test('warder health loads no service, no library and fewer than 60 files', () => {
  const loaded = listLoaded('../packages/warder/health/command.ts')
  const heavy = loaded.filter((url) => /\/(node_modules|kms|auth|keys|server|runtime)\//.test(url))
  assert.deepEqual(heavy, [])
  assert.ok(loaded.length < 60, `${loaded.length} files`)
})

/** Where settings and their checks may be. */
const ofSettings =
  /(?:settings|pkcs11-uris)\.ts$|\/packages\/(?:base|runtime\/config|crypto\/algorithms|keys|external-stores)\/|\/node_modules\/smol-toml\//

test('settings load no service, no store and no schemas', () => {
  const files = globSync('../packages/*/{service/,}settings.ts', { cwd: import.meta.dirname })
  assert.ok(files.length > 4)
  for (const file of files) {
    const loaded = listLoaded(file)
    const heavy = loaded.filter((url) => url.endsWith('-store.ts') || !ofSettings.test(url))
    assert.deepEqual(heavy, [])
    assert.ok(loaded.length < 80, `${file}: ${loaded.length} files`)
  }
})

/**
 * `audit verify`, `root-key`, `backup` and others open a database, so that they load the stores of `storage` and `audit`, and
 * `pki` for their certificates and time stamps. `check` and `config check` load the services once they run, because each
 * service declares its own checks and migrations; `drill` loads the kms once it tries the
 * restored keys, and `external` the services once it enables or tests a store.
 */
const maxFiles = {
  check: 250,
  config: 250,
  'root-key': 250,
  service: 250,
  audit: 280,
  backup: 280,
  drill: 280,
  officers: 280,
  admin: 290,
  external: 290,
}
for (const [command, max] of Object.entries(maxFiles))
  test(`packages/warder/${command} loads no service, no server and no schemas, and at most ${max} files`, () => {
    const loaded = listLoaded(`../packages/warder/${command}/command.ts`)
    const heavy = loaded.filter((url) =>
      /\/packages\/(?:server|authority|identity|transit|kmip-codec|kmip-server|covercrypt|(?:auth|kms)\/(?!(?:service\/)?[\w-]*settings\.ts))|\/node_modules\/(?!smol-toml\/)/.test(
        url,
      ),
    )
    assert.deepEqual(heavy, [])
    assert.ok(loaded.length <= max, `${loaded.length} files`)
  })

test('what runs all the time and serves nothing loads no service and no schemas: warder start stays small', () => {
  const loaded = listLoaded('../packages/warder/start/supervisor.ts')
  const heavy = loaded.filter((url) =>
    /\/(node_modules|kms|auth|keys|kmip-codec|pki|runtime\/config)\//.test(url),
  )
  assert.deepEqual(heavy, [])
  assert.ok(loaded.length < 40, `${loaded.length} files`)
})
