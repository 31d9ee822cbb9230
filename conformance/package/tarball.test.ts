import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { caller } from '@warder/kms/testing'
import { artifact } from './built.ts'
import { startInstalled } from './start-installed.ts'

const wireTo = (url: string, ca: string) => caller({ port: Number(new URL(url).port), ca }, [])

const folder = mkdtempSync(join(tmpdir(), 'warder-tarball-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const archive = artifact(`-linux-${process.arch}.tar.gz`)
const skip = 'missing' in archive ? archive.missing : false

test('the tarball runs where there is neither npm nor another Node, and has the pages that its README links to', {
  skip,
}, async () => {
  assert.ok(!('missing' in archive))
  assert.equal(spawnSync('tar', ['xzf', archive.file, '-C', folder, '--strip-components=1']).status, 0)
  const pages = join(folder, 'share', 'doc', 'warder')
  const readme = readFileSync(join(pages, 'README.md'), 'utf8')
  const links = [...readme.matchAll(/\]\(([^):#]+)\)/g)].map(([, path = '']) => path)
  assert.ok(links.length > 5)
  assert.deepEqual(
    links.filter((path) => !existsSync(join(pages, path))),
    [],
  )
  const bin = join(folder, 'path')
  spawnSync('mkdir', [bin])
  symlinkSync(join(folder, 'bin', 'warder'), join(bin, 'warder'))
  const env = {
    ...{ PATH: `${bin}:/usr/bin:/bin`, HOME: folder, WARDER_HOME: join(folder, 'home') },
    ...{ AUTH_PORT: '0', KMS_PORT: '0', KMS_SOCKET_SERVER_PORT: '0' },
  }
  const run = (...words: string[]) => spawnSync('warder', words, { cwd: folder, env, encoding: 'utf8' })
  assert.match(run('--version').stdout, /^\d+\.\d+\.\d+\n$/)
  const services = await startInstalled('warder', [], { cwd: folder, env })
  try {
    assert.match(services.output(), /"try":"warder try --home /)
    const { status, stdout, stderr } = run('try')
    assert.equal(status, 0, stderr)
    assert.match(stdout, /^all \d+ steps passed$/m)
    const { auth, kms } = JSON.parse(readFileSync(join(folder, 'home', 'endpoints.json'), 'utf8'))
    const ca = readFileSync(join(folder, 'home', 'tls', 'ca.crt'), 'utf8')
    for (const { url } of [auth, kms]) {
      const page = await wireTo(url, ca).get('/ui/')
      assert.equal((await wireTo(url, ca).get(/src="([^"]+)"/.exec(page.text)?.[1] ?? '/none')).status, 200)
      assert.match(page.text, /<title>Warder<\/title>/)
    }
  } finally {
    assert.equal(await services.stop(), 0)
  }
})
