import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { missingPrograms, readCommands, runCommands } from '../testing/guide.ts'
import { type Installation, startInstallation } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

// The commands of the pages for operators, with the folders of a machine in place of those that the pages name.

const skip = missingPrograms('sed', 'stat', 'openssl', 'curl')
let warder: Installation
let folder: string
before(async () => {
  if (skip !== false) return
  folder = mkdtempSync(join(tmpdir(), 'warder-operator-'))
  for (const name of ['backup', 'etc', 'mnt', 'vault']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'etc', 'backup-passphrase'), 'correct horse battery staple\n')
  // `ssh vault 'COMMAND'` runs it in a folder that stands for the other machine.
  writeFileSync(join(folder, 'ssh'), '#!/bin/sh\ncd "$(dirname "$0")/$1" && exec sh -c "$2"\n')
  chmodSync(join(folder, 'ssh'), 0o700)
  warder = await startInstallation({ env: { AUTH_METRICS_PORT: '0', KMS_METRICS_PORT: '0' } })
})
after(async () => {
  if (skip !== false) return
  await warder.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs blocks of a page and checks that their output says all of this. */
async function follow(
  page: string,
  expected: readonly RegExp[],
  also: readonly (readonly [string, string])[] = [],
): Promise<void> {
  const places: readonly (readonly [string, string])[] = [
    ['/var/lib/warder', warder.home],
    ['/etc/warder/', `${join(folder, 'etc')}/`],
    ['/backup/', `${join(folder, 'backup')}/`],
    ['drill /backup ', `drill ${join(folder, 'backup')} `],
    ['/srv/', `${folder}/`],
    ['/mnt/', `${join(folder, 'mnt')}/`],
    ...also,
  ]
  const blocks = readCommands(page).map((block) =>
    places.reduce((text, [named, here]) => text.replaceAll(named, here), block),
  )
  assert.ok(blocks.length > 0)
  const { status, text } = await runCommands(blocks, folder, { WARDER_HOME: warder.home })
  assert.equal(status, 0, text)
  for (const sentence of expected) assert.match(text, sentence)
}

test('the commands of the production page work', { skip }, async () => {
  await follow('docs/how-to/production.md', [/^kms .*, nothing to change$/m, /^ok .*audit.kms: /m])
})

test('the commands of the page on the audit log work', { skip }, async () => {
  await follow(
    'docs/how-to/audit.md',
    [/"operation":"service\.start"/, /^no closed file is older than that$/m],
    [
      // It would never end.
      ['warder audit tail --follow ', 'warder audit tail '],
    ],
  )
})

test('the commands of the page on monitoring work', { skip }, async () => {
  const port = (service: string): string =>
    new RegExp(`"service":"${service}".*"metrics_port":(\\d+)`).exec(warder.output())?.[1] ?? ''
  await until('the log names the ports', () => port('auth') !== '' && port('kms') !== '')
  await follow(
    'docs/how-to/monitoring.md',
    [/^warder_certificate_end_timestamp_seconds.* \d+/m, /^warder_audit_writable.* 1$/m, /"status":"UP"/],
    [
      ['https://127.0.0.1:9464', `https://127.0.0.1:${port('auth')}`],
      ['https://127.0.0.1:9465', `https://127.0.0.1:${port('kms')}`],
      ['https://127.0.0.1:9998', warder.kmsUrl],
    ],
  )
})

test('the commands of the page on upgrades work', { skip }, async () => {
  await follow(
    'docs/how-to/upgrade.md',
    [/^kms .*, nothing to change$/m, /before\.backup: \d+ rows and \d+ files/],
    [
      // This version is the new one, and no service manager runs it here.
      ['npm i -g warder@NEW', 'warder --version'],
      ['systemctl restart warder', 'warder health'],
    ],
  )
})

test('the commands of the page on backups work, also over a line that breaks', { skip }, async () => {
  const cut = '--spool tonight.backup | ssh vault '
  const far = join(folder, 'mnt', 'far', 'warder.backup')
  const copied = `warder backup ${far} --to officer.pub --spool far.backup\n`
  await follow(
    'docs/how-to/backup.md',
    [
      /^\S+\.backup: \d+ rows and \d+ files .* read back/m,
      /^the drill was successful$/m,
      /rows and \d+ files, as of/,
      /^\S+far\/warder\.backup: read back, .* far\.backup is removed$/m,
    ],
    [
      [`${cut}'cat > warder.backup'`, `${cut}'head -c 1000 > warder.backup'`],
      // Its copy breaks, too.
      [copied, `mkdir -p ${far}.arriving\n! ${copied}rmdir ${far}.arriving\n`],
    ],
  )
  const [here, there] = ['tonight.backup', 'vault/warder.backup'].map((name) =>
    readFileSync(join(folder, name)),
  )
  assert.ok(here !== undefined && there?.equals(here))
})

test('the commands of the page on disasters work', { skip }, async () => {
  const made = await runCommands(['warder admin add-user alice --realm _'], folder, {
    WARDER_HOME: warder.home,
  })
  assert.equal(made.status, 0, made.text)
  await follow('docs/how-to/disaster.md', [/root\.key is a new key/, /^ok .*audit.kms: /m])
})
