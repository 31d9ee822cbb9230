import { failure } from '@warder/base'
import type { FeedbackType, TranslationKeys, ZxcvbnFactory } from '@zxcvbn-ts/core'

/**
 * The most common passwords, in lower case; the last line has those of fewer than eight characters. SP 800-63B
 * §3.1.1.2 requires a list. A short one covers the guesses that the throttle allows.
 */
const commonPasswords: ReadonlySet<string> = new Set(
  `password password1 password12 password123 password1234 password! passw0rd p@ssword p@ssw0rd p@ssword1 p@ssw0rd1
  12345678 123456789 1234567890 0123456789 0987654321 9876543210 987654321 87654321 11111111 00000000 88888888
  66666666 99999999 12341234 11223344 1122334455 12344321 147258369 123123123 123321123 1qaz2wsx 1qaz2wsx3edc
  1q2w3e4r 1q2w3e4r5t q1w2e3r4 q1w2e3r4t5 qwertyui qwertyuiop qwerty12 qwerty123 qwerty1234 qwerty12345 qwe123456
  asdfghjk asdfghjkl asdf1234 asdfasdf zxcvbnm1 zxcvbnm123 qazwsxedc abcd1234 abc12345 abcdefgh abcdefg1 a1234567
  a12345678 a123456789 aa123456 aa12345678 asd123456 iloveyou iloveyou1 iloveyou2 sunshine sunshine1 princess
  princess1 football football1 baseball baseball1 basketball superman superman1 batman123 starwars trustno1 welcome1
  welcome12 welcome123 welcome! letmein1 letmein123 admin123 admin1234 admin12345 administrator administrator1
  changeme changeme1 change_me changeit default1 secret123 secret12 master123 monkey123 dragon123 shadow123
  michael1 jennifer jordan23 computer computer1 internet internet1 whatever charlie1 samsung1 samsung123 google123
  facebook facebook1 liverpool liverpool1 chelsea1 manchester arsenal1 barcelona corvette mercedes ferrari1
  maverick garfield mustang1 midnight password0 test1234 test12345 testtest testing1 testing123 guest123 guest1234
  user1234 root1234 rootroot toor1234 pass1234 pass12345 pass@123 pass@1234 passpass summer2024 summer2025
  summer2026 winter2024 winter2025 winter2026 spring2025 spring2026 autumn2025 autumn2026
  123456 1234567 12345 1234 123123 654321 111111 000000 666666 121212 112233 123321 qwerty qwert azerty asdfgh zxcvbn
  abc123 abcd abcdef a1b2c3 aaaaaa admin admin1 root toor test test1 test123 guest user pass passwd secret default
  letmein welcome login master monkey dragon shadow hello hello1 ninja love iloveu summer winter spring autumn
  mustang michael jordan charlie`
    .split(/\s+/)
    .filter((word) => word !== ''),
)

const shortest = 8
/** Maximum length before hashing, far above any password that a user types or a password manager generates. */
export const maxPasswordLength = 1024

/**
 * Normalizes a password before it is hashed: NFC, so that every keyboard yields the same text (SP 800-63B §3.1.1.2).
 */
export function normalPassword(password: string): string {
  return password.normalize('NFC')
}

/** Length in characters (code points). */
function countCharacters(text: string): number {
  return [...text].length
}

/** Rules for passwords that administrators set. With both rules off, only the empty password is refused. */
export interface PasswordPolicy {
  /** Characters. */
  readonly minimumLength: number
  /** Refuse the username and the most common passwords. */
  readonly refuseCommon: boolean
  /** Refuse hashes that are not approved. */
  readonly fips: boolean
}

/** The settings of the service that define a policy. */
export interface PasswordPolicySettings {
  readonly 'admin_password_policy.minimum_length': number
  readonly 'admin_password_policy.refuse_common': boolean
  /** Of the runtime. */
  readonly fips?: boolean
}

export function readPasswordPolicy(config: PasswordPolicySettings): PasswordPolicy {
  return {
    minimumLength: config['admin_password_policy.minimum_length'],
    refuseCommon: config['admin_password_policy.refuse_common'],
    fips: config.fips === true,
  }
}

/** @returns the reason why the policy refuses this password, as the end of a sentence; undefined when it is accepted */
export function initialPasswordProblem(
  password: string,
  username: string,
  policy: PasswordPolicy,
): string | undefined {
  const normal = normalPassword(password)
  const length = countCharacters(normal)
  if (length === 0) return 'must not be empty'
  if (length > maxPasswordLength) return `must have at most ${maxPasswordLength} characters`
  if (length < policy.minimumLength) return `must have at least ${policy.minimumLength} characters`
  return policy.refuseCommon ? commonProblem(normal, username) : undefined
}

function commonProblem(normal: string, username: string): string | undefined {
  const folded = normal.toLowerCase()
  if (folded === username.toLowerCase()) return 'must not be the username'
  return commonPasswords.has(folded) ? 'is among the most common passwords; choose another' : undefined
}

/** Validates a password that a user chose, without composition rules (SP 800-63B). @throws failure('bad_request') */
export function checkChosenPassword(password: string, username: string): void {
  const length = countCharacters(normalPassword(password))
  if (length < shortest || length > maxPasswordLength) {
    throw failure('bad_request', `new_password: must have ${shortest} to ${maxPasswordLength} characters.`)
  }
  const problem = commonProblem(normalPassword(password), username)
  if (problem !== undefined) throw failure('bad_request', `new_password: ${problem}.`)
}

/**
 * Minimum score on a scale from 0 to 4. From this score on an attack takes more than a million guesses, which the
 * throttle prevents.
 */
const minScore = 2
/**
 * Number of characters that are evaluated. A longer password is at least as strong as its beginning; the time grows
 * with the length.
 */
const maxCharacters = 64

const translations: Pick<TranslationKeys, 'warnings' | 'suggestions'> = {
  warnings: {
    straightRow: 'rows of keyboard keys are easy to guess',
    keyPattern: 'short keyboard patterns are easy to guess',
    simpleRepeat: 'repeated characters are easy to guess',
    extendedRepeat: 'repeated patterns are easy to guess',
    sequences: 'sequences like abc or 4321 are easy to guess',
    recentYears: 'recent years are easy to guess',
    dates: 'dates are easy to guess',
    topTen: 'it is one of the ten most common passwords',
    topHundred: 'it is one of the hundred most common passwords',
    common: 'it is a common password',
    similarToCommon: 'it is similar to a common password',
    wordByItself: 'a single word is easy to guess',
    namesByThemselves: 'single names are easy to guess',
    commonNames: 'common names are easy to guess',
    userInputs: 'it contains the username or the realm',
    pwned: 'it is known from a breach',
  },
  suggestions: {
    l33t: 'digits and signs instead of letters (@ for a) help little',
    reverseWords: 'reversed words help little',
    allUppercase: 'use capitals for some letters, not for all',
    capitalization: 'a capital first letter helps little',
    dates: 'avoid dates that are related to you',
    recentYears: 'avoid recent years',
    associatedYears: 'avoid years that are related to you',
    sequences: 'avoid sequences',
    repeated: 'avoid repetitions',
    longerKeyboardPattern: 'use longer keyboard patterns with more turns',
    anotherWord: 'add another word or two; rare ones are better',
    useWords: 'use several words, but not a common phrase',
    noNeed: 'it can be strong without signs, digits or capitals',
    pwned: 'change it everywhere you use it',
  },
}

let estimator: Promise<ZxcvbnFactory> | undefined

/** Loaded at the first choice of a password. */
async function loadEstimator(): Promise<ZxcvbnFactory> {
  const core = await import('@zxcvbn-ts/core')
  const { timeEstimation } = new core.Options().translations
  return new core.ZxcvbnFactory({
    dictionary: { passwords: [...commonPasswords] },
    translations: { ...translations, timeEstimation },
    maxLength: maxCharacters,
  })
}

/**
 * Refuses a password that an attacker guesses with few attempts: one with repeats, sequences, dates, a common password
 * with small changes, or the name of the user or the realm. The check takes milliseconds, so it runs only after the old
 * password was verified.
 * @throws failure('bad_request') with advice for a better password
 */
export async function checkStrength(
  password: string,
  user: { readonly username: string; readonly realm: string },
): Promise<void> {
  estimator ??= loadEstimator()
  const { score, feedback } = (await estimator).check(normalPassword(password), [user.username, user.realm])
  if (score >= minScore) return
  throw failure('bad_request', `new_password: is easy to guess${formatAdvice(feedback)}.`)
}

function formatAdvice({ warning, suggestions }: FeedbackType): string {
  const why = warning === null || warning === '' ? '' : `: ${warning}`
  const better = [...new Set(suggestions)].filter((one) => one !== '')
  return better.length === 0 ? why : `${why}. To make it better: ${better.join('; ')}`
}
