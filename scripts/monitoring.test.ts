import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

/** Names of metrics as the sources declare them, the parts of histograms as well. */
function listDeclared(): readonly RegExp[] {
  const sources = globSync('packages/**/*.ts', { cwd: root }).filter(
    (file) => !/node_modules|\.test\.ts$/.test(file),
  )
  const names = sources.flatMap((file) => {
    const calls = read(file).matchAll(
      /(?:\.count|\.gauge|\.collected)\(\s*(['`])([a-z_${}.]+)\1|['"]warder_([a-z_]+)['"]/g,
    )
    return [...calls].map(([, , counted, whole]) => counted ?? whole ?? '')
  })
  return names.map(
    (name) => new RegExp(`^${name.replaceAll(/\$\{[a-z.]+\}/g, '[a-z]+')}(?:_bucket|_sum|_count)?$`),
  )
}

const listUsed = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(/warder_([a-z_]+[a-z])(?![a-z_.]*\*|\()/g)].map(([, name]) => name ?? '')),
]

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string
      readonly expr: string
      readonly annotations: { readonly summary: string }
    }[]
  }[]
}
const rules = (parse(read('deploy/prometheus/alerts.yaml')) as Rules).groups.flatMap((group) => group.rules)
interface Dashboard {
  readonly panels: readonly {
    readonly id: number
    readonly title: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
}
const { panels } = JSON.parse(read('deploy/grafana/warder.json')) as Dashboard

test('alert rules and the dashboard ask for metrics that the services have', () => {
  const known = listDeclared()
  assert.ok(known.length > 15)
  const expressions = [
    ...rules.map(({ expr }) => expr),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ]
  for (const name of expressions.flatMap(listUsed))
    assert.ok(
      known.some((pattern) => pattern.test(name)),
      `no source declares warder_${name}`,
    )
})

test('each alert says what to do, and each panel stands once', () => {
  assert.ok(rules.length >= 10 && panels.length >= 12)
  for (const { alert, annotations } of rules) assert.ok(annotations.summary.length > 20, alert)
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
})

test('the guide names the metrics that the rules use', () => {
  const guide = read('docs/how-to/monitoring.md')
  const inGuide = (name: string): boolean =>
    guide.includes(name) || guide.includes(name.replace(/^audit_forward_waiting/, ''))
  for (const name of rules.flatMap(({ expr }) => listUsed(expr))) assert.ok(inGuide(name), name)
})

interface Scraping {
  readonly rule_files: readonly string[]
  readonly scrape_configs: readonly {
    readonly job_name: string
    readonly scheme: string
    readonly tls_config: { readonly ca_file: string }
    readonly static_configs: readonly { readonly targets: readonly string[] }[]
  }[]
}

test('the scrape configuration of the guide asks the ports that it names, by jobs that the alert rules look for', () => {
  const guide = read('docs/how-to/monitoring.md')
  const { rule_files, scrape_configs } = parse(/```yaml\n([\s\S]*?)```/.exec(guide)?.[1] ?? '') as Scraping
  assert.equal(rule_files.length, 1)
  const asked = scrape_configs.flatMap(({ scheme, tls_config, static_configs }) => {
    assert.equal(scheme, 'https')
    assert.ok(tls_config.ca_file.startsWith('/'))
    return static_configs.flatMap(({ targets }) => targets.map((target) => target.split(':')[1]))
  })
  assert.deepEqual(
    asked,
    [...guide.matchAll(/`metrics_port = (\d+)`/g)].map(([, port]) => port),
  )
  const down = rules.find(({ alert }) => alert === 'WarderDown')?.expr ?? ''
  const wanted = new RegExp(`^${/job=~"([^"]+)"/.exec(down)?.[1]}$`)
  for (const { job_name } of scrape_configs) assert.match(job_name, wanted)
})
