import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { authService } from '@warder/auth'
import { runtimeCounters } from '@warder/base'
import { kmsService } from '@warder/kms'
import { beginStart } from '@warder/runtime/testing'
import { configureBoth } from 'warder/testing'
import { parse, stringify } from 'yaml'

const root = fileURLToPath(new URL('..', import.meta.url))
const rulesFile = `${root}deploy/prometheus/alerts.yaml`

/** A series that makes an alert fire, minute by minute, and one that does not. */
interface Scenario {
  readonly series: string
  readonly bad: string
  readonly good: string
  /** Minutes after which the alert fires. */
  readonly after?: number
}

const kms = 'job="warder-kms", instance="a"'
const day = 86_400
/** The first event of a counter that has been there at 0 since the start. */
const firstEvent = { bad: '0x5 1x20', good: '0x30' }

const scenarios: Readonly<Record<string, Scenario>> = {
  WarderDown: { series: `up{${kms}}`, bad: '0x30', good: '1x30' },
  WarderServerErrors: {
    series: `warder_operations_total{${kms}, operation="crypto.sign", status="503"}`,
    bad: '0+60x30',
    good: '5x30',
  },
  WarderAuditNotWritable: { series: `warder_audit_writable{${kms}}`, bad: '0x30', good: '1x30' },
  WarderAuditLost: { series: `warder_audit_lost_total{${kms}}`, ...firstEvent },
  WarderLogLost: { series: `warder_log_lines_lost_total{${kms}}`, ...firstEvent },
  WarderAuditChanged: { series: `warder_audit_files_changed_total{${kms}}`, ...firstEvent },
  WarderAuditForwardBehind: {
    series: `warder_audit_forward_waiting_syslog{${kms}}`,
    bad: '100001x30',
    good: '100x30',
    after: 20,
  },
  WarderCertificateEnds: {
    series: `warder_certificate_end_timestamp_seconds{${kms}}`,
    bad: `${13 * day}x30`,
    good: `${15 * day}x30`,
  },
  WarderSealed: { series: `warder_sealed{${kms}}`, bad: '1x30', good: '0x30' },
  WarderKeyBudgetEnds: { series: `warder_keys_budget_ending{${kms}}`, bad: '1x30', good: '0x30' },
  WarderKeysNotRotated: {
    series: `warder_keys_not_rotated{${kms}}`,
    bad: '1x90',
    good: '0x90',
    after: 70,
  },
  WarderClockJumped: { series: `warder_clock_jumps_total{${kms}, direction="back"}`, ...firstEvent },
  WarderDiskFull: { series: `warder_disk_free_bytes{${kms}}`, bad: '900000000x30', good: '2000000000x30' },
  WarderDatabaseErrors: {
    series: `warder_database_errors_total{${kms}, kind="unavailable"}`,
    bad: '0+10x30',
    good: '3x30',
  },
  WarderCommitsWait: { series: `warder_database_waiting_commits{${kms}}`, bad: '1001x30', good: '3x30' },
  WarderQueueFull: { series: `warder_queue_jobs{${kms}, queue="passwords"}`, bad: '51x30', good: '3x30' },
  WarderRootKeyUnusable: {
    series: `warder_root_key_usable{${kms}, source="transit"}`,
    bad: '0x30',
    good: '1x30',
  },
  WarderWorkersRestart: { series: `warder_worker_restarts_total{${kms}}`, bad: '0 0 1 2 4x20', good: '0x30' },
  WarderNoBackup: {
    series: `warder_last_backup_timestamp_seconds{${kms}}`,
    bad: `-${3 * day}x30`,
    good: '0x30',
  },
  WarderNoDrill: {
    series: `warder_last_drill_timestamp_seconds{${kms}}`,
    bad: `-${9 * day}x30`,
    good: '0x30',
  },
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}
const rules = (parse(readFileSync(rulesFile, 'utf8')) as Rules).groups.flatMap((group) => group.rules)

test('there is a scenario for every alert, with a metric that the alert looks at', () => {
  assert.deepEqual(Object.keys(scenarios).sort(), rules.map(({ alert }) => alert).sort())
  for (const { alert, expr } of rules) {
    const name = scenarios[alert]?.series.split('{')[0] ?? ''
    assert.ok(expr.includes(name) || /warder_audit_forward_waiting_/.test(expr), `${alert}: ${name}`)
  }
})

const promtool = spawnSync('promtool', ['--version']).status === 0

test('promtool: every alert fires at its first event, and is silent while all is well', {
  skip: promtool ? false : 'promtool is not here: apt-get install prometheus',
}, () => {
  const cases = Object.entries(scenarios).flatMap(([alert, { series, bad, good, after = 10 }]) =>
    ([bad, good] as const).map((values, index) => ({
      name: `${alert} ${index === 0 ? 'fires' : 'is silent'}`,
      interval: '1m',
      input_series: [{ series, values }],
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alert}", alertstate="firing"})`,
          eval_time: `${after}m`,
          exp_samples: index === 0 ? [{ labels: '{}', value: 1 }] : [],
        },
      ],
    })),
  )
  const folder = mkdtempSync(join(tmpdir(), 'warder-alerts-'))
  try {
    const file = join(folder, 'tests.yaml')
    writeFileSync(file, stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests: cases }))
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('every counter that the sources count is declared, so that it exists at 0 from the start', async () => {
  const declared = { ...runtimeCounters, ...authService.counters, ...kmsService.counters }
  const sources = globSync('packages/**/*.ts', { cwd: root }).filter(
    (file) => !/node_modules|\.test\.ts$|(^|\/)testing\//.test(file),
  )
  const counted = new Set(
    sources.flatMap((file) => {
      const calls = readFileSync(join(root, file), 'utf8').matchAll(/\.count\(\s*'([a-z_]+_total)'/g)
      return [...calls].map(([, name]) => name ?? '')
    }),
  )
  assert.deepEqual([...counted].sort(), Object.keys(declared).sort())
  const home = mkdtempSync(join(tmpdir(), 'warder-counters-'))
  try {
    for (const { launch } of Object.values(configureBoth(home, {}))) {
      await using opened = new AsyncDisposableStack()
      const text = await (await beginStart(launch, opened)).metrics.exposition()
      const own = launch.exportName === 'kmsService' ? kmsService.counters : authService.counters
      for (const [name, labels] of Object.entries({ ...runtimeCounters, ...own })) {
        const [label, values] = Object.entries(labels)[0] ?? []
        const series = label === undefined ? `warder_${name} 0` : `warder_${name}{${label}="${values?.[0]}"`
        assert.ok(text.includes(series), `${launch.exportName} has no ${series}`)
      }
    }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})
