import { kms } from '../../../api.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { texts } from '../../../texts.ts'
import type { KeyProps } from './rights.ts'

const words = texts.key.labels

/** Tags of the key, and the user's own names for it. */
export function Labels(props: KeyProps) {
  return (
    <div className="labels">
      <Tags {...props} />
      <Aliases {...props} />
    </div>
  )
}

function Tags({ of: { kid, tags }, may }: KeyProps) {
  const add = kms.useAct('key.tags.add')
  const remove = kms.useAct('key.tags.remove')
  return (
    <section>
      <h2>{words.tags}</h2>
      <Chips
        names={tags}
        empty={words.noTags}
        verb={words.removeTag}
        remove={
          may('deleteattribute')
            ? (tag) => remove.mutate({ path: { kid }, body: { tags: [tag] } })
            : undefined
        }
      />
      {remove.error !== null && <Failure error={remove.error} />}
      {may('addattribute') && (
        <AddName
          label={words.newTag}
          help={words.tagHelp}
          verb={words.addTag}
          command={`warder keys tag ${kid} TAG`}
          add={(tag) => add.mutateAsync({ path: { kid }, body: { tags: [tag] } })}
          error={add.error}
          isPending={add.isPending}
        />
      )}
    </section>
  )
}

function Aliases({ of: { kid, version_of: whole } }: KeyProps) {
  const { data, error, refetch } = kms.useOperation('crypto.aliases.list', { query: { kid: whole ?? kid } })
  const create = kms.useAct('crypto.aliases.create')
  const remove = kms.useAct('crypto.aliases.delete')
  return (
    <section>
      <h2>{words.aliases}</h2>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      <Chips
        names={(data ?? []).map(({ alias }) => alias)}
        empty={words.noAliases}
        verb={words.removeAlias}
        remove={(alias) => remove.mutate({ path: { alias } })}
      />
      {remove.error !== null && <Failure error={remove.error} />}
      <AddName
        label={words.newAlias}
        help={words.aliasHelp}
        verb={words.addAlias}
        command={`warder keys alias NAME ${kid}`}
        add={(alias) => create.mutateAsync({ body: { alias, kid: whole ?? kid } })}
        error={create.error}
        isPending={create.isPending}
      />
    </section>
  )
}

function Chips(props: {
  readonly names: readonly string[]
  readonly empty: string
  readonly verb: (name: string) => string
  readonly remove: ((name: string) => void) | undefined
}) {
  const { names, empty, verb, remove } = props
  if (names.length === 0) return <p className="quiet">{empty}</p>
  return (
    <ul className="chips">
      {names.map((name) => (
        <li key={name} className="chip">
          <bdi>{name}</bdi>
          {remove !== undefined && (
            <button
              type="button"
              className="button plain"
              aria-label={verb(name)}
              onClick={() => remove(name)}
            >
              <span aria-hidden="true">×</span>
            </button>
          )}
        </li>
      ))}
    </ul>
  )
}

/** A field in a closed part: adding is rarer than reading. */
function AddName(props: {
  readonly label: string
  readonly help: string
  readonly verb: string
  readonly command: string
  readonly add: (name: string) => Promise<unknown>
  readonly error: unknown
  readonly isPending: boolean
}) {
  const { label, help, verb, command, add, error, isPending } = props
  return (
    <details>
      <summary>{verb}</summary>
      <Form
        submit={verb}
        error={error}
        isPending={isPending}
        onSubmit={({ name = '' }) => void add(name.trim()).catch(() => undefined)}
      >
        <Field label={label} name="name" help={help} isRequired autoComplete="off" maxLength={256} />
      </Form>
      <CodeBlock label={texts.key.command} samples={[{ title: texts.key.command, code: command }]} />
    </details>
  )
}
