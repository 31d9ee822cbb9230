import type { Reply } from '@warder/client/browser'
import { kms } from '../../../api.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Status } from '../../../parts/status.tsx'
import { Time } from '../../../parts/time.tsx'
import { texts } from '../../../texts.ts'
import { Act, GuardedAct } from './act.tsx'
import type { KeyProps } from './rights.ts'
import { describeState, KeyState } from './state.tsx'

const words = texts.key.versions
type Version = Reply<'crypto.keys.versions'>['versions'][number]

/** The versions of a key on a time line, the newest first, each with its acts. */
export function Versions({ of: key, may }: KeyProps) {
  const kid = key.version_of ?? key.kid
  const pages = kms.usePages('crypto.keys.versions', { path: { kid }, query: { limit: '50' } }, (reply) => [
    reply,
  ])
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = pages
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  if (rows === undefined) return <Skeleton />
  const min = rows[0]?.min_decrypt_version ?? 1
  return (
    <>
      <ol className="timeline" aria-label={words.title}>
        {rows
          .flatMap(({ versions }) => versions)
          .map((version) => (
            <li key={version.version} className={version.newest ? 'newest' : undefined}>
              <VersionFacts of={version} isTooOld={version.version < min} />
              <VersionActs of={version} kid={kid} may={may} days={key.destruction_days ?? 0} />
            </li>
          ))}
      </ol>
      {hasNextPage && (
        <button
          type="button"
          className="button"
          disabled={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        >
          {words.more}
        </button>
      )}
      <CodeBlock
        label={texts.key.command}
        samples={[{ title: texts.key.command, code: `warder keys version disable ${kid} 1` }]}
      />
    </>
  )
}

function VersionFacts({ of: version, isTooOld }: { readonly of: Version; readonly isTooOld: boolean }) {
  const moments = [
    [words.created, version.created_at],
    [words.superseded, version.superseded_at],
    [words.disabledAt, version.disabled_at],
    [words.destruction, version.destruction_at],
  ] as const
  return (
    <div>
      <h2>
        {words.one(version.version)} {version.newest && <span className="tag">{words.newest}</span>}
      </h2>
      <p>
        <KeyState of={version} /> <code>{version.kid}</code>
      </p>
      <ul className="plain-list quiet">
        {moments.map(
          ([text, at]) =>
            at !== undefined && (
              <li key={text}>
                {text} <Time at={at} />
              </li>
            ),
        )}
      </ul>
      {isTooOld && <Status kind="warning">{words.tooOld}</Status>}
    </div>
  )
}

function VersionActs(props: {
  readonly of: Version
  readonly kid: string
  readonly may: KeyProps['may']
  readonly days: number
}) {
  const { of: one, kid, may, days } = props
  const { version, state, disabled_at: disabled, destruction_at: waits } = one
  const input = { path: { kid, version: String(version) }, body: {} }
  const activate = kms.useAct('crypto.keys.versions.activate')
  const disable = kms.useAct('crypto.keys.versions.disable')
  const enable = kms.useAct('crypto.keys.versions.enable')
  const restore = kms.useAct('crypto.keys.versions.restore')
  const revoke = kms.useAct('crypto.keys.versions.revoke')
  const destroy = kms.useAct('crypto.keys.versions.destroy')
  if (describeState(one).startsWith('Destroyed')) return null
  const { done, titles, effects } = words
  const newest = one.newest && <p className="notice">{words.newestEffect}</p>
  if (waits !== undefined)
    return may('activate') ? (
      <Act verb={words.restore} done={done.restore} run={() => restore.mutateAsync(input)} />
    ) : null
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    <div className="actions" role="group" aria-label={words.acts(version)}>
      {state === 'PreActive' && may('activate') && (
        <Act verb={words.activate} done={done.activate} run={() => activate.mutateAsync(input)} />
      )}
      {disabled !== undefined && may('activate') && (
        <Act verb={words.enable} done={done.enable} run={() => enable.mutateAsync(input)} />
      )}
      {disabled === undefined && may('revoke') && (
        <GuardedAct
          verb={words.disable}
          title={titles.disable(version)}
          done={done.disable}
          run={() => disable.mutateAsync(input)}
        >
          <p>{effects.disable}</p>
          {newest}
        </GuardedAct>
      )}
      {state === 'Active' && may('revoke') && (
        <GuardedAct
          verb={words.deactivate}
          title={titles.deactivate(version)}
          done={done.revoke}
          run={() => revoke.mutateAsync(input)}
        >
          <p>{effects.deactivate}</p>
          {newest}
        </GuardedAct>
      )}
      {!state.includes('Compromised') && may('revoke') && (
        <GuardedAct
          verb={words.compromised}
          title={titles.compromised(version)}
          done={done.revoke}
          run={() => revoke.mutateAsync({ ...input, body: { compromised: true } })}
        >
          <p>{effects.compromised}</p>
          {newest}
        </GuardedAct>
      )}
      {may('destroy') && may('revoke') && (
        <GuardedAct
          verb={words.destroy}
          title={titles.destroy(version)}
          done={done.destroy}
          request={{ operation: 'destroy', key: one.kid }}
          run={() => destroy.mutateAsync(input)}
        >
          <p>{effects.destroy}</p>
          <p>{days === 0 ? texts.key.destroy.now : texts.key.destroy.later(days)}</p>
          {newest}
        </GuardedAct>
      )}
    </div>
  )
}
