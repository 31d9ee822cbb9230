import { failure } from '@warder/base'
import type { FeedbackType, TranslationKeys, ZxcvbnFactory } from '@zxcvbn-ts/core'
import { commonPasswords } from './common-passwords.ts'
import { normalPassword } from './password-rules.ts'

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
 * Refuses a password that takes too few guesses, besides its length and the list of common ones: repeats, sequences,
 * dates, similarity to common passwords, the names of the user and the realm. It takes milliseconds, so it runs only
 * after the old password was proved.
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
