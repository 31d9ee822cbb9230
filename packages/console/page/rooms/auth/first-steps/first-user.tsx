import { useMutation } from '@tanstack/react-query'
import { ClientError, toBase64Url } from '@warder/client/browser'
import { auth, queryClient } from '../../../api.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { Secret, useShownOnce } from '../../../parts/secret.tsx'
import { quoteShell } from '../../../parts/table-text.ts'
import { texts } from '../../../texts.ts'

const words = texts.firstSteps

interface Created {
  readonly realm: string
  readonly username: string
  readonly password: string
}

const passwordBytes = 18

/** A random first password: base64url of 144 bits. */
function createPassword(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(passwordBytes)))
}

/** Creates the realm with passwords and passkeys, unless it exists. */
async function ensureRealm(id: string): Promise<void> {
  const body = {
    id,
    auth_params: { username_password_params: { allow_expired_passwords: false }, fido2_params: {} },
    session_max_age_seconds: 8 * 3600,
    session_max_stale_age_seconds: 1800,
  }
  try {
    await auth.client.call('realms.create', { body })
  } catch (error) {
    if (!(error instanceof ClientError && error.status === 409)) throw error
  }
}

/** A user with a first password, in a realm that is created if it does not exist. */
export function FirstUser() {
  const [created, setCreated] = useShownOnce<Created>()
  const create = useMutation({
    gcTime: 0,
    mutationFn: async ({ realm, username }: Pick<Created, 'realm' | 'username'>) => {
      const password = createPassword()
      await ensureRealm(realm)
      await auth.client.call('credentials.create', {
        path: { realm_id: realm },
        body: { username, password_input: { plaintext: password }, change_password: true },
      })
      setCreated({ realm, username, password })
    },
    onSuccess: () => queryClient.invalidateQueries(),
  })
  if (created !== undefined) return <CreatedUser created={created} onAnother={() => setCreated(undefined)} />
  return (
    <Form
      submit={words.create}
      isPending={create.isPending}
      error={create.error}
      onSubmit={({ realm = '', username = '' }) => create.mutate({ realm, username })}
    >
      <Field
        label={words.realm}
        help={words.realmHelp}
        name="realm"
        isRequired
        autoComplete="off"
        maxLength={64}
        validate={(value) => (/^[A-Za-z0-9_-]*$/.test(value) ? null : words.realmRule)}
      />
      <Field
        label={words.username}
        name="username"
        isRequired
        autoComplete="off"
        maxLength={256}
        validate={(value) => (value.includes(':') ? words.usernameRule : null)}
      />
    </Form>
  )
}

function CreatedUser({ created, onAnother }: { readonly created: Created; readonly onAnother: () => void }) {
  const { realm, username, password } = created
  const address = `${window.location.origin}/ui/login?${new URLSearchParams({ realm })}`
  const commands = [
    `warder admin create-realm ${quoteShell(realm)} --login password --login passkey`,
    `warder admin add-user ${quoteShell(username)} --realm ${quoteShell(realm)}`,
  ]
  return (
    <>
      <p className="notice" role="status">
        <bdi>{words.created(username, realm)}</bdi> {words.createdHelp}
      </p>
      <CodeBlock label={words.createdHelp} samples={[{ title: texts.account.name, code: address }]} />
      <Secret label={words.initialPassword(username)} value={password} />
      <h3>{words.sameByCommand}</h3>
      <CodeBlock
        label={words.sameByCommand}
        samples={[{ title: words.sameByCommand, code: commands.join('\n') }]}
      />
      <p>
        <button type="button" className="button" onClick={onAnother}>
          {words.another}
        </button>
      </p>
    </>
  )
}
