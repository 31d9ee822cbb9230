import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { commands } from 'warder/testing'
import { root } from '../bundle/entry-points.ts'

const services = globSync(join(root, 'deploy/systemd/*.service')).toSorted()
const names = services.map((file) => basename(file))
/** Tenths of the score of `systemd-analyze security`: lower is safer. */
const highestExposure = 30
const analyze = spawnSync('systemd-analyze', ['security', '--help'], { encoding: 'utf8' }).stdout ?? ''

test('the units are hardened', {
  skip: analyze.includes('--offline')
    ? false
    : 'systemd-analyze security --offline is not here (systemd 250 or later)',
}, () => {
  assert.ok(names.includes('warder.service') && names.includes('warder-kubernetes-kms.service'))
  const words = ['security', '--offline=yes', '--no-pager', `--threshold=${highestExposure}`]
  for (const file of services) {
    const { status, stdout, stderr } = spawnSync('systemd-analyze', [...words, file], { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
    assert.match(stdout, /Overall exposure level for \S+: [0-2]\.\d /)
  }
})

test('the units call commands and options that there are, and each timer has its service', async () => {
  for (const file of services) {
    const calls = [...readFileSync(file, 'utf8').matchAll(/\/usr\/bin\/warder ([a-z-]+)( [a-z]+)?(.*)/g)]
    assert.ok(calls.length > 0, file)
    for (const [, name, verb = '', rest = ''] of calls) {
      const command = await commands.find((each) => each.name === name)?.load()
      assert.ok(command?.options !== undefined || command?.help !== undefined, `${file}: ${name}`)
      const help = command.help + (command.helpFor?.([verb.trim(), '--help']) ?? '')
      for (const [option] of rest.matchAll(/--[a-z-]+/g))
        assert.ok(help.includes(option), `${file}: ${option}`)
    }
  }
  for (const timer of globSync(join(root, 'deploy/systemd/*.timer')))
    assert.ok(names.includes(`${basename(timer, '.timer')}.service`), timer)
})
